"""``python -m attention``: what there is to do with the package."""

from importlib.metadata import PackageNotFoundError, version

import torch

from attention import attention_weights

SITE = "https://softlookup.github.io/softlookup"
REPOSITORY = "https://github.com/softlookup/softlookup"


def main() -> None:
    """Print a first lookup, and where to read, run and practise."""
    try:
        edition = version("softlookup")
    except PackageNotFoundError:
        edition = "a copy that is not installed"
    weights = attention_weights(torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0], [1.0, 1.0], [-2.0, 0.0]]))
    print(f"""\
Soft Lookup ({edition}): attention, from a dictionary to the Transformer.

Look up one query in three keys:
    >>> import torch
    >>> from attention import attention_weights
    >>> attention_weights(torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0], [1.0, 1.0], [-2.0, 0.0]]))
    {weights}

Solve an exercise; attention.exercises has one module a chapter:
    >>> from attention.exercises import scores
    >>> scores.distance_scores.check(your_function)

Read the course:       {SITE}/
Look up a function:    {SITE}/book/api.html
Run the notebooks:     git clone {REPOSITORY}, and make lab there
Say what is unclear:   {REPOSITORY}/issues""")


if __name__ == "__main__":
    main()
