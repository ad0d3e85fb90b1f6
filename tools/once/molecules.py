"""Where the atoms of chapter 15's reactions are drawn: ``python -m tools.once.molecules`` writes it into the package.

It needs RDKit, which the book itself does not; the weekly job compares what is kept.
"""

import json

from rdkit import Chem
from rdkit.Chem import rdDepictor

from attention.course.molecules import FILE
from attention.course.reaction import ESTER, REACTIONS


def drawn(line: str) -> dict[str, list]:
    """The places of a reaction's atoms, in the order in which they are written, and its bonds.

    Each molecule is laid out by itself, and rings are written with single and double bonds in turn.
    """
    places, bonds = [], []
    for smiles in line.replace(">>", ".").split("."):
        molecule = Chem.MolFromSmiles(smiles)
        rdDepictor.Compute2DCoords(molecule)
        Chem.Kekulize(molecule, clearAromaticFlags=True)
        first = len(places)
        places += (molecule.GetConformer().GetPositions()[:, :2].round(2) + 0.0).tolist()  # no −0
        for bond in molecule.GetBonds():
            ends = sorted((first + bond.GetBeginAtomIdx(), first + bond.GetEndAtomIdx()))
            bonds.append([*ends, int(bond.GetBondTypeAsDouble())])
    return {"places": places, "bonds": sorted(bonds)}


if __name__ == "__main__":
    lines = [*REACTIONS.values(), *ESTER.values()]
    rows = [f"{json.dumps(line)}: {json.dumps(drawn(line), separators=(',', ':'))}" for line in lines]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
