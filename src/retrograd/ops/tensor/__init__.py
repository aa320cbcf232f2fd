"""What a tensor says about itself, how it prints, copies and leaves for other libraries."""
