"""How far apart two colours look, to most and to those with a colour-vision deficiency."""

import numpy as np

# What light becomes for those without one kind of cone: Machado et al. (2009), severity 1.
EYES = {
    "most": np.eye(3),
    "protanopes": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopes": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopes": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
WHITE = [0.95047, 1.0, 1.08883]  # D65


def linear(color: str) -> np.ndarray:
    """The light of red, green and blue in ``#rrggbb``."""
    parts = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def seen(color: str, eyes: str = "most") -> np.ndarray:
    """A colour in CIELAB, as those eyes see it."""
    light = np.clip(np.array(EYES[eyes]) @ linear(color), 0, 1)
    parts = np.array(TO_XYZ) @ light / WHITE
    x, y, z = np.where(parts > (6 / 29) ** 3, np.cbrt(parts), parts / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def ciede2000(one, other) -> float:
    """The difference of two colours in CIELAB: Sharma, Wu and Dalal (2005), whose names these are."""
    (L1, a1, b1), (L2, a2, b2) = one, other
    faint = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    G = 0.5 * (1 - np.sqrt(faint / (faint + 25.0**7)))
    C1, C2 = np.hypot(a1 * (1 + G), b1), np.hypot(a2 * (1 + G), b2)
    h1, h2 = (np.degrees(np.arctan2(b, a * (1 + G))) % 360 for a, b in ((a1, b1), (a2, b2)))
    grey = C1 * C2 == 0
    turn = 0 if grey else (h2 - h1 + 180) % 360 - 180
    if not grey and h2 - h1 == 180:
        turn = 180
    dH = 2 * np.sqrt(C1 * C2) * np.sin(np.radians(turn / 2))
    L, C = (L1 + L2) / 2, (C1 + C2) / 2
    h = h1 + h2 if grey else (h1 + h2) / 2
    if not grey and abs(h1 - h2) > 180:
        h += 180 if h < 180 else -180
    hues = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    T = 1 + sum(part * np.cos(np.radians(times * h + shift)) for part, times, shift in hues)
    in_L = (L2 - L1) / (1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2))
    in_C = (C2 - C1) / (1 + 0.045 * C)
    in_H = dH / (1 + 0.015 * C * T)
    blues = 60 * np.exp(-(((h - 275) / 25) ** 2))
    R = -2 * np.sqrt(C**7 / (C**7 + 25.0**7)) * np.sin(np.radians(blues))
    return float(np.sqrt(in_L**2 + in_C**2 + in_H**2 + R * in_C * in_H))
