"""Groups and their parts; the shares of labels and the pinned examples are in
tests/training/test_train_linear_heads.py.
"""

import numpy as np

from edos_dataset.crowd.splits import link, share_out


def test_links_go_through_others():
    vectors = np.eye(6, dtype=np.float32)
    vectors[4] = vectors[3]
    keys = [["a"], ["a", "b"], ["b"], ["c"], ["d"], []]
    groups = link(keys, vectors, 0.95)
    assert groups[0] == groups[1] == groups[2]
    assert groups[3] == groups[4]
    assert len(set(groups.tolist())) == 3
    assert len(set(link(keys, np.eye(6, dtype=np.float32), 0.95).tolist())) == 4


def test_groups_stay_whole_and_large_ones_do_not_tip_the_shares():
    groups = np.repeat(np.arange(200), 5)
    labels = groups % 3
    parts = share_out(groups, labels, (0.6, 0.2, 0.2), seed=0)
    assert all(len(set(parts[groups == group])) == 1 for group in range(200))
    for label in range(3):
        assert (
            np.abs(np.bincount(parts[labels == label], minlength=3) / (labels == label).sum() - [0.6, 0.2, 0.2]).max()
            < 0.05
        )
