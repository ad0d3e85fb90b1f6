"""What keeps the book: running, normalising and comparing notebooks, benchmarks."""
