from datetime import date, datetime, timezone

import pytest

from meters import bill, readings, tariff

DAY = date(2026, 7, 1)


def hours(**used):
    all_hours = [0] * 24
    for name, value in used.items():
        all_hours[int(name.removeprefix("h"))] = value
    return all_hours


@pytest.mark.parametrize(
    "watt_hours, price, want",
    [
        (1000, 28_400, 28_400),
        (500, 28_401, 14_201),
        (1, 499, 0),
        (1, 500, 1),
        (333, 31_000, 10_323),
        (0, 33_800, 0),
    ],
)
def test_charge_rounds_half_up(watt_hours, price, want):
    assert tariff.charge(watt_hours, price) == want


def test_night_is_cheaper_at_night():
    at = datetime(2026, 7, 1, 23, tzinfo=timezone.utc)
    assert tariff.NIGHT.price(at) == 19_900
    assert tariff.NIGHT.price(at.replace(hour=12)) == 31_200


def test_free_watt_hours_come_first():
    days = {DAY: hours(h10=400, h11=400)}
    assert bill.total(days, tariff.SOLAR) == 52_000 + tariff.charge(300, 24_100)


def test_a_counter_that_begins_again():
    at = datetime(2026, 7, 1, tzinfo=timezone.utc)
    before = readings.Reading("A-17", at, 999_999_900)
    after = readings.Reading("A-17", at.replace(hour=1), 50)
    assert after.used_since(before) == 150


def test_usage_counts_where_it_begins():
    text = "A-17;2026-01-05T10:00:00Z;1000\nA-17;2026-01-05T11:00:00Z;1400\n"
    used = bill.usage(readings.parse_arlo(text))
    assert used["A-17"][date(2026, 1, 5)] == hours(h10=400)


def test_the_day_of_a_bill_is_the_day_of_the_meter():
    text = "A-17;2026-07-01T23:30:00Z;1000\nA-17;2026-07-02T00:30:00Z;1250\n"
    used = bill.usage(readings.parse_arlo(text))
    assert list(used["A-17"]) == [date(2026, 7, 2)]
