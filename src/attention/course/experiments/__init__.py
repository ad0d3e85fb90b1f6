"""The experiments at the size at which they were published, each a command of its own."""
