"""What an exercise is made of: a specification, fresh random inputs, and the wrong answers people give."""

import builtins
import dis
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

TRIALS = 5
STAY_WITH_TENSORS = "Use PyTorch's own operations, not float(), math or numpy, so training can use your function."
PRODUCTS = (
    "@ @= matmul mm mv dot inner einsum tensordot linear bmm vdot vecdot multi_dot chain_matmul bilinear "
    "addmm addmv addbmm baddbmm"
)
SOFTMAXES = (
    "softmax log_softmax logsumexp Softmax LogSoftmax softmin Softmin gumbel_softmax "
    "masked_softmax attention_weights scaled_dot_product_attention"
)
WAYS = {  # what an exercise may forbid, and how it looks in a function's code
    "a loop or comprehension": {"loop", "map", "reduce"},
    "causal_mask": {"causal_mask", "window_mask"},
    "a matrix product": {*PRODUCTS.split()},
    "PyTorch's softmax": {*SOFTMAXES.split()},
    "torch.special.entr": {"entr"},
    "a table of all pairs": {"pairs"},
    "autograd": {"autograd", "backward", "grad", "jacobian", "jacrev", "jacfwd", "vjp", "jvp"},
}


def fresh() -> torch.Generator:
    """A generator whose seed comes from chance."""
    generator = torch.Generator()
    generator.seed()
    return generator


@dataclass(frozen=True)
class Mistake:
    """A known wrong answer, and what to tell the reader who gives it."""

    answer: Callable
    hint: str


@dataclass(frozen=True)
class Edge:
    """An input that chance would leave out, and what to tell a reader who is right on all inputs before it."""

    draw: Callable[[torch.Generator], tuple]
    hint: str

    def __call__(self, generator: torch.Generator) -> tuple:
        return self.draw(generator)


@dataclass(frozen=True)
class Exercise:
    """A function to be written by the reader.

    Attributes:
        name: the function's name.
        specification: what it should return.
        draw: from a generator to fresh arguments, floating-point tensors among them, no two dimensions alike.
        mistakes: known wrong answers, each with its hint.
        edges: each draws one more input of every check: sizes of 1, ties, extremes, which chance would leave out. An
            :class:`Edge` has a hint of its own.
        without: what an answer must not use, of :data:`WAYS`.
        rtol, atol: how far right results may lie from the specification's, as in :func:`torch.isclose`.
        canonical: maps right answers that may differ (by a constant, say) to one.
        gradient: maps right gradients that may differ to one.
    """

    name: str
    specification: Callable
    draw: Callable[[torch.Generator], tuple]
    mistakes: tuple[Mistake, ...] = ()
    edges: tuple[Callable[[torch.Generator], tuple], ...] = ()
    without: tuple[str, ...] = ()
    rtol: float = 1e-4
    atol: float = 1e-5
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
        with torch.inference_mode(False), torch.enable_grad(), nullcontext() if is_cpu else torch.device("cpu"):
            return self._verdict(answer)

    def _verdict(self, answer: Callable) -> str:
        generator = fresh()
        draws = *[self.draw] * TRIALS, *self.edges
        trials = [draw(generator) for draw in draws]
        for number, (draw, arguments) in enumerate(zip(draws, trials, strict=True)):
            fault = self._fault(answer, arguments)
            if fault == "not attempted yet":
                return "not attempted yet."
            if fault:
                here = f" {draw.hint}" if isinstance(draw, Edge) else ""
                # a mistake that shows at random is told from others by these inputs: at an edge it may overflow
                shows = number < TRIALS and not fault.startswith("The values are right")
                hint = self._hint(answer, trials[:TRIALS] if shows else trials)
                return f"not yet. {hint or fault + here}"
        tables = _tables(answer, trials[:TRIALS]) if "a table of all pairs" in self.without else set()
        used = _used(answer) | tables if self.without else set()
        for way in self.without:
            if WAYS[way] & used:
                return f"not yet. The values are right. Now find them without {way}."
        learns = self.specification(*_copies(trials[0])).requires_grad
        where = " and at the edges" if self.edges else ""
        return f"correct: {'values and gradients' if learns else 'values'}, on {TRIALS} random inputs{where}."

    def _hint(self, answer: Callable, trials: list[tuple]) -> str:
        """What to tell whoever gives this wrong answer; empty if it is not known."""
        outcomes = [_outcome(answer, arguments) for arguments in trials]
        for mistake in self.mistakes:
            pairs = zip(trials, outcomes, strict=True)
            if all(self._alike(_outcome(mistake.answer, arguments), other) for arguments, other in pairs):
                return mistake.hint
        return ""

    def _alike(self, one: Any, other: Any) -> bool:
        """Whether two outcomes are the same result; raising the same error counts too."""
        if isinstance(one, Tensor) and isinstance(other, Tensor):
            return _comparable(one, other) and not self._wrong(other, one).any()
        return type(one) is type(other) and str(one) == str(other)

    def _fault(self, answer: Callable, arguments: tuple) -> str:
        """What is wrong with the answer on one input; empty when nothing is."""
        given, known = _copies(arguments), _copies(arguments)
        expected = self.specification(*known)
        try:
            found = answer(*given)
        except Exception as error:
            if isinstance(error, NotImplementedError) and not str(error):  # PyTorch's own have a text
                return "not attempted yet"
            return f"With {_shapes(arguments)} it raises {type(error).__name__}: {error}{_advice(str(error))}"
        if found is None or found is ...:
            return "not attempted yet"
        if not isinstance(found, Tensor):
            return f"It must return a tensor, and returns {type(found).__name__}."
        if fault := self._value_fault(found, expected):
            return f"With {_shapes(arguments)} {fault}"
        if not all(map(_same, _tensors(given), _tensors(arguments))):
            return "The values are right, but it changes its input."
        found, expected = self.canonical(found), self.canonical(expected)
        if not expected.requires_grad:
            return ""
        wanted = _gradients(expected, known)
        if not found.requires_grad:
            lost = f"The values are right, but PyTorch cannot follow how they came about. {STAY_WITH_TENSORS}"
            return lost if any(each.any() for each in wanted) else ""
        try:
            gradients = _gradients(found, given)
        except RuntimeError as error:
            return f"The values are right, but PyTorch cannot compute their gradients: {error}{_advice(str(error))}"
        return self._gradient_fault(gradients, wanted)

    def _value_fault(self, found: Tensor, expected: Tensor) -> str:
        if found.shape != expected.shape:
            return f"the result must have shape {tuple(expected.shape)}, and has {tuple(found.shape)}."
        if not _comparable(expected, found):
            return f"the result must be of dtype {expected.dtype}, and is of {found.dtype}."
        wrong = self._wrong(found, expected)
        return _difference(self.canonical(found), self.canonical(expected), wrong) if wrong.any() else ""

    def _wrong(self, found: Tensor, expected: Tensor) -> Tensor:
        return _wrong(self.canonical(found), self.canonical(expected), self.rtol, self.atol)

    def _gradient_fault(self, found: list[Tensor], expected: list[Tensor]) -> str:
        for one, other in zip(found, expected, strict=True):
            if (one.isnan() & ~other.isnan()).any():
                return "The values are right, but their gradients hold NaN: one was made on the way, and then hidden."
            largest = max([1.0, *other.nan_to_num().abs().flatten().tolist()])  # a small sum of large terms is rounded
            if _wrong(self.gradient(one), self.gradient(other), atol=1e-5 * largest).any():
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


def _same(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)


def _comparable(one: Tensor, other: Tensor) -> bool:
    kinds = [(tensor.is_floating_point(), tensor.dtype == torch.bool) for tensor in (one, other)]
    return one.shape == other.shape and kinds[0] == kinds[1]


def _gradients(output: Tensor, arguments: tuple) -> list[Tensor]:
    """The gradients of a fixed mixture of the outputs by the inputs."""
    inputs = [tensor for tensor in _tensors(arguments) if tensor.requires_grad]
    direction = torch.cos(torch.arange(output.numel(), dtype=output.dtype)).reshape(output.shape)
    return list(torch.autograd.grad(output, inputs, direction, allow_unused=True, materialize_grads=True))


def _wrong(found: Tensor, expected: Tensor, rtol: float = 1e-4, atol: float = 1e-5) -> Tensor:
    return ~torch.isclose(found, expected.to(found.dtype), rtol=rtol, atol=atol, equal_nan=True)


def _used(function: Callable) -> set[str]:
    """The names that a function looks up outside itself, its operators, and "loop" if it goes back; its helpers' too.

    Helpers are functions of the same module. Neither their names count nor those of variables: the reader chose them.
    """
    things, used = [function], set()
    for thing in things:  # it grows
        if not isinstance(thing, FunctionType) or thing.__module__ != function.__module__:
            used.add(getattr(thing, "__name__", ""))  # its own name, whatever the reader calls it
            continue
        codes = [thing.__code__]
        found = [cell.cell_contents for cell in thing.__closure__ or ()]
        for code in codes:
            codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
            for step in dis.get_instructions(code):
                if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
                    used.add(step.argval)
                elif step.opname == "BINARY_OP":
                    used.add(step.argrepr)
                elif "JUMP_BACKWARD" in step.opname:
                    used.add("loop")
                elif step.opname == "LOAD_GLOBAL":
                    found.append(thing.__globals__.get(step.argval, getattr(builtins, step.argval, None)))
        things += [one for one in found if not any(one is other for other in things)]
    return used


def _tables(function: Callable, trials: list[tuple]) -> set[str]:
    """ "pairs" if the function makes a table of all pairs of rows of its first argument, at once or by growing rows."""
    arguments = max(trials, key=lambda trial: len(_tensors(trial)[0]))
    rows, made = len(_tensors(arguments)[0]), set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            result = operation(*args, **(kwargs or {}))
            made.update(tuple(one.shape) for one in tree_leaves(result) if isinstance(one, Tensor))
            return result

    with Watch():
        function(*_copies(arguments))
    grows = made >= {(number,) for number in range(2, rows)}  # the scores of keys 0 to t, for every t
    return {"pairs"} if grows or any(shape.count(rows) > 1 for shape in made) else set()


def _shapes(arguments: tuple) -> str:
    return "arguments " + ", ".join(map(_shape, arguments))


def _shape(argument: Any) -> str:
    if isinstance(argument, Tensor):
        return str(tuple(argument.shape))
    if isinstance(argument, list):
        return f"[{', '.join(map(_shape, argument))}]"
    return argument.__name__.strip("<>") if callable(argument) else repr(argument)


def _difference(found: Tensor, expected: Tensor, wrong: Tensor) -> str:
    """The first entry that differs."""
    place = tuple(wrong.nonzero()[0].tolist())
    where = f" at [{', '.join(map(str, place))}]" if place else ""
    one, other = _entry(found[place]), _entry(expected[place])
    if one == other:
        one, other = _entry(found[place], "#.6g"), _entry(expected[place], "#.6g")
    return f"it gives {one}{where} where {other} is right."


def _entry(number: Tensor, form: str = ".4f") -> str:
    return f"{number.item():{form}}" if number.is_floating_point() else str(number.item())
