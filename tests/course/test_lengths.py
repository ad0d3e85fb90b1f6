"""Chapter 11's copying heads at other lengths: what is drawn, where it stands, and the published runs."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attention.course.experiments import lengths
from attention.course.experiments.runs import load

pytestmark = pytest.mark.usefixtures("on_the_cpu")


@pytest.fixture(scope="module")
def runs():
    """The runs that come with the package."""
    return lengths.published()["runs"]


@given(seed=st.integers(0, 2**32 - 1), length=st.sampled_from([32, 33, 64]))
def test_a_loop_stands_at_the_end_and_none_of_its_symbols_before(seed, length):
    tokens, period = lengths.draw(3, torch.Generator("cpu").manual_seed(seed), length)
    for row, p in zip(tokens.tolist(), period.flatten().tolist(), strict=True):
        before, loop = row[: length - 32], row[length - 32 :]
        assert 8 <= p <= 16
        assert len({*loop[:p]}) == p
        assert all(loop[place] == loop[place % p] for place in range(32))
        assert not {*before} & {*loop}


def test_learned_positions_begin_where_they_are_told():
    model = lengths.make("learned").double()
    tokens, _ = lengths.draw(3, torch.Generator("cpu").manual_seed(0))
    assert_close(lengths.read(model, tokens, torch.zeros(3, 1, dtype=torch.long)), model(tokens))
    start = torch.tensor([[0], [5], [96]])
    found = lengths.read(model, tokens, start)
    for row in range(3):
        model.position_embedding.weight.data = model.position_embedding.weight.data.roll(-int(start[row]), dims=0)
        assert_close(found[row], model(tokens)[row])
        model.position_embedding.weight.data = model.position_embedding.weight.data.roll(int(start[row]), dims=0)


class Looker(torch.nn.Module):
    """Says what followed the present token when it last occurred, if that can be seen through the mask, else 0."""

    def __init__(self):
        super().__init__()
        self.output = torch.nn.Linear(1, 1)

    def forward(self, tokens, attn_masks=None):
        said = torch.zeros_like(tokens)
        for n, row in enumerate(tokens.tolist()):
            for place in range(len(row)):
                seen = range(1, place + 1)
                if attn_masks is not None:
                    assert_close(attn_masks[0], attn_masks[1])
                    seen = [key for key in seen if attn_masks[0][place, key]]
                followed = [row[key] for key in seen if row[key - 1] == row[place]]
                said[n, place] = followed[-1] if followed else 0
        return torch.nn.functional.one_hot(said, lengths.SYMBOLS).double()


def test_all_is_right_for_one_who_looks_and_less_in_a_narrow_window(monkeypatch):
    monkeypatch.setattr(lengths, "SEQUENCES", 4)
    assert lengths.test(Looker()) == {"right": [1, 1, 1], "window": [1, 1, 1]}
    shares = [lengths.right(Looker(), 64, window) for window in (4, 12, 16)]
    assert shares[0] < 0.2 < shares[1] < shares[2] == 1


def test_there_is_one_published_run_for_each_settings(runs):
    assert [{"kind": run["kind"], "seed": run["seed"]} for run in runs] == lengths.RUNS


def test_what_the_published_runs_show(runs):
    """Bounds that all five seeds of a kind keep."""
    by_kind = {kind: [run for run in runs if run["kind"] == kind] for kind in lengths.KINDS}
    for kind, least in (("learned", 0.99), ("learned, moved", 0.97), ("rotary", 0.99), ("ALiBi", 0.89)):
        assert min(run["right"][0] for run in by_kind[kind]) > least
    assert max(run["right"][0] for run in by_kind["none"]) < 0.5
    assert max(run["right"][1] for run in by_kind["learned"]) < 0.02
    assert max(run["right"][2] for run in by_kind["learned, moved"] + by_kind["rotary"]) < 0.2
    assert min(run["right"][2] for run in by_kind["ALiBi"]) > 0.75
    assert min(run["window"][2] for run in by_kind["rotary"]) > 0.89


@pytest.mark.parametrize("settings", lengths.RUNS, ids=lambda settings: "-".join(map(str, settings.values())))
def test_each_published_run_begins_as_it_would_today(runs, settings):
    (run,) = [run for run in runs if settings.items() <= run.items()]
    _, losses = lengths.learn(settings, torch.device("cpu"), steps=2)
    assert losses == pytest.approx(run["losses"][:2], rel=1e-6)


def test_the_command_trains_tests_and_saves(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lengths, "RUNS", [{"kind": kind, "seed": 0} for kind in ("learned, moved", "ALiBi")])
    monkeypatch.setattr(lengths, "STEPS", 2)
    monkeypatch.setattr(lengths, "SEQUENCES", 4)
    lengths.main(["--device", "cpu", "--output", str(tmp_path / "run.pt")])
    found = load(tmp_path / "run.pt")
    assert [len(run["right"]) for run in found["runs"]] == [3, 3]
    assert found["session"]["seconds"] > 0
    assert "ALiBi" in capsys.readouterr().out
