"""What a tensor has that is no op: conversion, printing, inspection."""

from __future__ import annotations

__all__: list[str] = []
