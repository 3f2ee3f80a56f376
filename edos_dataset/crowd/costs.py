"""What people cost: rewards, bonuses, and the fee of Amazon Mechanical Turk."""

from decimal import ROUND_HALF_UP, Decimal

_CENT = Decimal("0.01")
_FEE, _MORE_FEE, _MANY = Decimal("0.2"), Decimal("0.2"), 10


def dollars(amount: float | Decimal) -> Decimal:
    """Return an amount in US dollars, to the cent."""
    return Decimal(str(amount)).quantize(_CENT, ROUND_HALF_UP)


def with_fee(amount: float | Decimal, workers: int) -> Decimal:
    """Return what rewards cost on Mechanical Turk: 20 % on top, 40 % for HITs that ten people or more are given; of
    bonuses it is always 20 %, so give 1.
    """
    fee = _FEE + (_MORE_FEE if workers >= _MANY else 0)
    return dollars(Decimal(str(amount)) * (1 + fee))


def cost_range(hits: int, workers: int, reward: float, bonus: float) -> tuple[Decimal, Decimal]:
    """Return what HITs cost on Mechanical Turk in US dollars, with no bonus and with all of them."""
    assignments = Decimal(hits * workers)
    least = with_fee(assignments * dollars(reward), workers)
    return least, least + with_fee(assignments * dollars(bonus), 1)
