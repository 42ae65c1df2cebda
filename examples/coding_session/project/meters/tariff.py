"""Prices of electricity, by hour and by season."""

from dataclasses import dataclass
from enum import Enum

MILLICENTS_PER_CENT = 1000
NIGHT_HOURS = frozenset((22, 23, 0, 1, 2, 3, 4, 5))
WINTER_MONTHS = frozenset((11, 12, 1, 2))


class Season(Enum):
    SUMMER = "summer"
    WINTER = "winter"

    @classmethod
    def of(cls, at):
        return cls.WINTER if at.month in WINTER_MONTHS else cls.SUMMER


@dataclass(frozen=True)
class Price:
    """Millicents for a kilowatt-hour."""

    day: int
    night: int

    def at(self, hour):
        return self.night if hour in NIGHT_HOURS else self.day


@dataclass(frozen=True)
class Tariff:
    name: str
    standing: int  # millicents a day
    summer: Price
    winter: Price
    free_watt_hours: int = 0  # a day, before anything is charged

    def price(self, at):
        season = self.winter if Season.of(at) is Season.WINTER else self.summer
        return season.at(at.hour)


FLAT = Tariff("flat", 41_000, Price(28_400, 28_400), Price(28_400, 28_400))
NIGHT = Tariff("night", 47_500, Price(31_200, 19_900), Price(33_800, 21_600))
SOLAR = Tariff("solar", 52_000, Price(24_100, 26_700), Price(34_900, 27_300), free_watt_hours=500)

TARIFFS = {t.name: t for t in (FLAT, NIGHT, SOLAR)}


def charge(watt_hours, price):
    """Millicents for so many watt-hours at a price for a kilowatt-hour."""
    return watt_hours * price // 1000


def cheapest(usage_by_hour, month_start):
    """The name of the tariff that costs least for 24 hourly values."""
    costs = {}
    for tariff in TARIFFS.values():
        total, free = tariff.standing, tariff.free_watt_hours
        for hour, used in enumerate(usage_by_hour):
            charged = max(0, used - free)
            free = max(0, free - used)
            total += charge(charged, tariff.price(month_start.replace(hour=hour)))
        costs[tariff.name] = total
    return min(costs, key=lambda name: (costs[name], name))
