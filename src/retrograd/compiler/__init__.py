"""Array programs as native code, by LLVM: needs `llvmlite`."""
