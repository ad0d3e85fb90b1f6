"""A forked kernel is as a fresh one, whatever the one before did, and ends when the process that asked for it does."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux alone")

LEAVES_MUCH = """
import os, random, signal, sys, warnings
import matplotlib.pyplot as plt, numpy as np, torch
name = 1
os.environ["NAME"] = "1"
os.chdir("/")
sys.path.append("/name")
sys.modules["name"] = random
warnings.simplefilter("error")
signal.signal(signal.SIGINT, signal.SIG_IGN)
plt.rcParams["figure.dpi"] = 7
plt.figure()
random.seed(7), np.random.seed(7), torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.set_printoptions(precision=1)
torch.set_num_threads(3)
"""
STATE = """
import json
names = sorted(name for name in globals() if name != "json")
import os, random, signal, sys, warnings
import matplotlib.pyplot as plt, numpy as np, torch, torch._dynamo
from attention.explorer import explore
same = dict(
    names=names,
    argv=len(sys.argv),
    path=sys.path,
    module="name" in sys.modules,
    folder=os.getcwd(),
    variables=sorted(os.environ.keys() - {"JPY_PARENT_PID"}),
    filters=sorted(str(each) for each in warnings.filters),
    signals=[str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGCHLD, signal.SIGTERM)],
    own_group=os.getpgid(0) == os.getpid(),
    backend=plt.get_backend(),
    style=str(sorted(plt.rcParams.items())),
    figures=plt.get_fignums(),
    dtype=str(torch.get_default_dtype()),
    device=str(torch.get_default_device()),
    gradients=torch.is_grad_enabled(),
    digits=torch._tensor_str.PRINT_OPTS.precision,
    threads=torch.get_num_threads(),
    comms=sorted(get_ipython().kernel.comm_manager.targets),
    hooks=sorted(str(hook.__name__) for hook in get_ipython().events.callbacks["post_execute"]),
)
print(json.dumps({"same": same, "chance": [random.random(), np.random.rand(), torch.initial_seed()]}))
"""
SCRIPT = f"""
import json, os, signal
from jupyter_client.manager import start_new_kernel
from tools import kernels

def run(code):
    manager, client = start_new_kernel()
    said = []
    def hear(message):
        if message["msg_type"] in ("stream", "error"):
            said.append(message["content"].get("text") or message["content"]["evalue"])
    client.execute_interactive(code, output_hook=hear, timeout=60)
    client.stop_channels()
    return manager, "".join(said)

alive = []
states = []
for number, code in enumerate([{STATE!r}, {LEAVES_MUCH!r}, {STATE!r}, {STATE!r}]):
    if number == 1:
        kernels.fork_kernels()
    manager, said = run(code)
    states.append(said)
    alive.append(manager.provisioner.process.pid)
    if number in (0, 1):
        manager.shutdown_kernel(now=True)
print(json.dumps([states, alive[2:] + [kernels._server.process.pid]]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def found():
    """What a fresh kernel and two forked ones say of themselves, and what lived when who asked for them was killed."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    (fresh, left, *forked), processes = json.loads(finished.stdout)
    assert left == ""
    return json.loads(fresh), [json.loads(each) for each in forked], processes


@pytest.mark.parametrize("number", [0, 1])
def test_a_forked_kernel_is_as_a_fresh_one(found, number):
    fresh, forked, _ = found
    assert forked[number]["same"] == fresh["same"]
    assert "name" not in fresh["same"]["names"]


def test_chance_that_nobody_seeded_is_each_kernels_own(found):
    _, (first, second), _ = found
    assert all(one != other for one, other in zip(first["chance"], second["chance"], strict=True))


def test_no_kernel_survives_who_asked_for_it(found):
    *_, processes = found
    deadline = time.monotonic() + 20
    while any(_lives(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [process for process in processes if _lives(process)]


def _lives(process):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
