"""What the pages show: the data they draw, what they train and its stored runs, their pictures, a published model."""
