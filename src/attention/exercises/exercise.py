"""What an exercise is made of: a slow specification, fresh random inputs, and the wrong answers people give."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

TRIALS = 5
PRIMES = (3, 5, 7, 11)
STAY_WITH_TENSORS = (
    "Use PyTorch's own operations, not float(), math or numpy, so that training could use your function."
)


def primes(generator: torch.Generator, count: int) -> list[int]:
    """So many dimensions, no two alike."""
    return [PRIMES[index] for index in torch.randperm(len(PRIMES), generator=generator)[:count].tolist()]


def centred(gradient: Tensor) -> Tensor:
    """A gradient by weights, whose rows sum to 1: what is added to a whole row makes no difference."""
    return gradient - gradient.mean(dim=-1, keepdim=True)


@dataclass(frozen=True)
class Mistake:
    """A known wrong answer, and what to tell the reader who gives it."""

    answer: Callable
    hint: str


@dataclass(frozen=True)
class Exercise:
    """A function to be written by the reader.

    Attributes:
        name: the function's name.
        specification: what it should return, as slowly and plainly as can be.
        draw: from a generator to fresh arguments, floating-point tensors among them, no two dimensions alike.
        mistakes: known wrong answers, each with its hint.
        edge: draws the last input of every check, where chance would often leave out a case that tells mistakes apart.
        canonical: maps right answers that may differ (by a constant, say) to one.
        gradient: maps right gradients that may differ to one.
    """

    name: str
    specification: Callable
    draw: Callable[[torch.Generator], tuple]
    mistakes: tuple[Mistake, ...] = ()
    edge: Callable[[torch.Generator], tuple] | None = None
    canonical: Callable[[Tensor], Tensor] = field(default=lambda answer: answer)
    gradient: Callable[[Tensor], Tensor] = field(default=lambda gradient: gradient)

    def check(self, answer: Callable) -> None:
        """Print whether the answer is right, and if not, why."""
        print(f"{self.name}: {self.verdict(answer)}")

    def verdict(self, answer: Callable) -> str:
        """Compare an answer with the specification on fresh inputs: values, gradients, and the inputs unchanged.

        Returns:
            one sentence: correct, not attempted yet, the hint for a known mistake, or where the answer first differs.
        """
        # whatever the reader's default is; if it is the CPU already, a context would only slow down every operation
        is_cpu = torch.get_default_device().type == "cpu"
        with nullcontext() if is_cpu else torch.device("cpu"):
            return self._verdict(answer)

    def _verdict(self, answer: Callable) -> str:
        generator = torch.Generator()
        generator.seed()
        draws = [self.draw] * (TRIALS - 1) + [self.edge or self.draw]
        trials = [draw(generator) for draw in draws]
        for arguments in trials:
            fault = self._fault(answer, arguments)
            if fault == "not attempted yet":
                return "not attempted yet."
            if fault:
                outcomes = [_outcome(answer, arguments) for arguments in trials]
                known = (mistake.hint for mistake in self.mistakes if self._is(mistake, trials, outcomes))
                return f"not yet. {next(known, fault)}"
        learns = self.specification(*_copies(trials[0])).requires_grad
        return f"correct: {'values and gradients' if learns else 'values'}, on {TRIALS} random inputs."

    def _is(self, mistake: Mistake, trials: list[tuple], outcomes: list) -> bool:
        """Whether this mistake gives what the answer gave, on every input; raising the same error counts too."""
        for arguments, other in zip(trials, outcomes, strict=True):
            one = _outcome(mistake.answer, arguments)
            if isinstance(one, Tensor) and isinstance(other, Tensor):
                if not _comparable(one, other) or not _close(self.canonical(other), self.canonical(one)):
                    return False
            elif type(one) is not type(other) or str(one) != str(other):
                return False
        return True

    def _fault(self, answer: Callable, arguments: tuple) -> str:
        """What is wrong with the answer on one input; empty when nothing is."""
        given, known = _copies(arguments), _copies(arguments)
        expected = self.specification(*known)
        try:
            found = answer(*given)
        except NotImplementedError:
            return "not attempted yet"
        except Exception as error:
            return f"With {_shapes(arguments)} it raises {type(error).__name__}: {error}{_advice(str(error))}"
        if found is None or found is ...:
            return "not attempted yet"
        if not isinstance(found, Tensor):
            return f"It must return a tensor, and returns {type(found).__name__}."
        if fault := self._value_fault(found, expected):
            return f"With {_shapes(arguments)} {fault}"
        if any(not torch.equal(one, other) for one, other in zip(*map(_tensors, (given, arguments)), strict=True)):
            return "The values are right, but it changes its input."
        found, expected = self.canonical(found), self.canonical(expected)
        if not expected.requires_grad:
            return ""
        if not found.requires_grad:
            return f"The values are right, but PyTorch cannot follow how they came about. {STAY_WITH_TENSORS}"
        try:
            gradients = _gradients(found, given)
        except RuntimeError as error:
            return f"The values are right, but PyTorch cannot compute their gradients: {error}{_advice(str(error))}"
        return self._gradient_fault(gradients, _gradients(expected, known))

    def _value_fault(self, found: Tensor, expected: Tensor) -> str:
        if found.shape != expected.shape:
            return f"the result must have shape {tuple(expected.shape)}, and has {tuple(found.shape)}."
        if not _comparable(expected, found):
            return f"the result must be of dtype {expected.dtype}, and is of {found.dtype}."
        if not _close(self.canonical(found), self.canonical(expected)):
            return _difference(self.canonical(found), self.canonical(expected))
        return ""

    def _gradient_fault(self, found: list[Tensor], expected: list[Tensor]) -> str:
        for one, other in zip(found, expected, strict=True):
            if one.isnan().any():
                return "The values are right, but their gradients hold NaN: one was made on the way, and then hidden."
            if not _close(self.gradient(one), self.gradient(other)):
                fault = "The values are right, but not their gradients: some step is left out, or made constant."
                return fault if one.any() else f"{fault} {STAY_WITH_TENSORS}"
        return ""


def _outcome(function: Callable, arguments: tuple) -> Any:
    """What a function returns, or the error that it raises."""
    try:
        return function(*_copies(arguments))
    except Exception as error:
        return error


def _advice(error: str) -> str:
    if "in-place" in error or "inplace" in error:
        return " Change nothing in place: make a new tensor, with clone, torch.where or masked_fill."
    return f" {STAY_WITH_TENSORS}" if "requires grad" in error else ""


def _tensors(arguments: tuple) -> list[Tensor]:
    return [argument for argument in arguments if isinstance(argument, Tensor)]


def _copies(arguments: tuple) -> tuple:
    """The arguments, with tensors cloned and ready for gradients."""
    return tuple(
        argument.clone().requires_grad_(argument.is_floating_point()) if isinstance(argument, Tensor) else argument
        for argument in arguments
    )


def _comparable(one: Tensor, other: Tensor) -> bool:
    kinds = [(tensor.is_floating_point(), tensor.dtype == torch.bool) for tensor in (one, other)]
    return one.shape == other.shape and kinds[0] == kinds[1]


def _gradients(output: Tensor, arguments: tuple) -> list[Tensor]:
    """The gradients of a fixed mixture of the outputs by the inputs."""
    inputs = [tensor for tensor in _tensors(arguments) if tensor.requires_grad]
    direction = torch.cos(torch.arange(output.numel(), dtype=output.dtype)).reshape(output.shape)
    return list(torch.autograd.grad(output, inputs, direction, allow_unused=True, materialize_grads=True))


def _close(found: Tensor, expected: Tensor) -> bool:
    return not _wrong(found, expected).any()


def _wrong(found: Tensor, expected: Tensor) -> Tensor:
    return ~torch.isclose(found, expected.to(found.dtype), rtol=1e-4, atol=1e-5, equal_nan=True)


def _shapes(arguments: tuple) -> str:
    return "arguments " + ", ".join(map(_shape, arguments))


def _shape(argument: Any) -> str:
    if isinstance(argument, Tensor):
        return str(tuple(argument.shape))
    if isinstance(argument, list):
        return f"[{', '.join(map(_shape, argument))}]"
    return argument.__name__ if callable(argument) else repr(argument)


def _difference(found: Tensor, expected: Tensor) -> str:
    """The first entry that differs."""
    place = tuple(_wrong(found, expected).nonzero()[0].tolist())
    where = f" at [{', '.join(map(str, place))}]" if place else ""
    one, other = _entry(found[place]), _entry(expected[place])
    if one == other:
        one, other = _entry(found[place], digits=6), _entry(expected[place], digits=6)
    return f"it gives {one}{where} where {other} is right."


def _entry(number: Tensor, digits: int = 4) -> str:
    return f"{number.item():.{digits}f}" if number.is_floating_point() else str(number.item())
