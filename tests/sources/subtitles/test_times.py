import numpy as np
import pytest

from edos_dataset.sources.subtitles.times import check_times, parse_times

NAN = np.nan


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("00:00:55,432", 55.432),
        ("01:27:52,005", 5272.005),
        ("00:14:18,00", 858.0),
        ("00:3:59,100", 239.1),
        ("0:00:01.5", 1.5),
        ("00:00:12", 12.0),
        ("00: 01:02 ,500", 62.5),
        ("00:00:AA,000", NAN),
        ("-0:00:01,000", -1.0),
        ("-01:00:01,500", -3601.5),
        ("0-1:59:59,000", -1.0),
        ("100:00:02,000", 360_002.0),
        ("00;00;01;000", NAN),
        ("", NAN),
        ("00:00:0٣,000", NAN),
    ],
)
def test_a_time_alone_and_among_regular_ones(value: str, seconds: float) -> None:
    np.testing.assert_equal(parse_times([value]), np.array([seconds]))
    np.testing.assert_equal(parse_times(["00:00:01,000", value, "10:00:00,250"]), np.array([1.0, seconds, 36000.25]))


def test_no_times() -> None:
    assert parse_times([]).shape == (0,)


@pytest.mark.parametrize(
    ("starts", "ends", "checked_starts", "checked_ends"),
    [
        ([1, 3, 5], [2, 4, 6], [1, 3, 5], [2, 4, 6]),
        ([1, 3], [2, 2.5], [1, 3], [2, NAN]),  # ends before it begins
        ([1, 3], [2, 64], [1, 3], [2, NAN]),  # shown for more than a minute
        ([90_000, 90_002], [90_001, 90_003], [NAN, NAN], [NAN, NAN]),  # after 24 hours
        ([10, 500, 12, 14], [11, 501, 13, 15], [10, NAN, 12, 14], [11, NAN, 13, 15]),  # one ran ahead
        ([500, 12, 14], [501, 13, 15], [NAN, 12, 14], [NAN, 13, 15]),  # the first ran ahead
        ([10, 20, 5, 30], [11, 21, 6, 31], [10, 20, NAN, 30], [11, 21, NAN, 31]),  # one came late
        ([10, 9.5, 12], [11, 10.5, 13], [10, 9.5, 12], [11, 10.5, 13]),  # overlap of a sign and speech
        ([3600, 3605, 5, 10], [3601, 3606, 6, 11], [3600, 3605, NAN, 10], [3601, 3606, NAN, 11]),  # a second disc
        ([NAN, 5, NAN], [2, NAN, NAN], [NAN, 5, NAN], [2, NAN, NAN]),
        ([], [], [], []),
    ],
)
def test_times_that_cannot_be_true_are_dropped(
    starts: list[float], ends: list[float], checked_starts: list[float], checked_ends: list[float]
) -> None:
    given = np.array(starts, dtype=float), np.array(ends, dtype=float)
    result = check_times(*given)
    np.testing.assert_equal(result[0], np.array(checked_starts, dtype=float))
    np.testing.assert_equal(result[1], np.array(checked_ends, dtype=float))
    np.testing.assert_equal(given[0], np.array(starts, dtype=float))
