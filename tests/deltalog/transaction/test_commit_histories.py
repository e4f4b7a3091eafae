"""Random changes that start from old versions, compared with a serial model: commits must be serializable.

The model is a table as a set of rows in partitions. A committed change must have the same effect at its place in the
log as on the version from which it started; a refused change must have a reason.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import pairwise

import pyarrow as pa
import pytest
from committed_files import by, named, partitioned
from delta_tables import alter

from deltalog.errors import CommitConflict, RefusedCommit
from deltalog.snapshot.opening import open_snapshot
from deltalog.transaction.change import Reads
from deltalog.transaction.commit import Committed
from deltalog.transaction.operations import append, compact, overwrite, replace_partitions, rewrite
from parquet_core.pruning.predicate import Compare, IsNull, Op, Or

DAYS = ["1", "2", "3", None]


@dataclass
class Version:
    """A version in the model: rows and day per file, and table settings."""

    files: dict[str, tuple[str | None, frozenset[int]]]
    settings: int = 0
    applications: dict[str, int] = field(default_factory=dict)

    def rows(self, days):
        return sorted(row for day, rows in self.files.values() if day in days for row in rows)


@dataclass
class Plan:
    """A change that starts from a version; `days`: partitions that it read; `blind`: new rows there do not matter."""

    kind: str
    seen: int
    days: set
    removes: set
    adds: dict
    data_change: bool = True
    txn: tuple[str, int] | None = None


class World:
    def __init__(self, place, level, seed):
        self.chance = random.Random(f"{level} {seed}")
        self.level = level
        self.snapshots = [partitioned(place, **{"delta.isolationLevel": level})]
        self.model = [Version({})]
        self.blind = [False]
        self.changed = [True]
        self.place = str(place)
        self.names = iter(range(10**9))
        self.row = iter(range(10**9))

    def new(self, day, rows):
        name = f"f{next(self.names)}"
        return name, (day, frozenset(rows))

    def decide(self):
        """Draw a change that starts from a recent version, and the call that commits it."""
        seen = self.chance.randrange(max(0, len(self.model) - 4), len(self.model))
        version, snapshot = self.model[seen], self.snapshots[seen]
        kind = self.chance.choice(
            ["append", "append", "derive", "delete", "partition", "where", "overwrite", "compact", "alter", "txn"]
        )
        day = self.chance.choice(DAYS)
        mine = [name for name, (at, _) in version.files.items() if at == day]
        fresh = dict([self.new(day, [next(self.row)])])
        if kind == "append":
            return Plan(kind, seen, set(), set(), fresh), lambda adds: append(snapshot, adds, checkpoint=False)
        if kind == "txn":
            application = self.chance.choice("ab")
            txn = application, max(0, version.applications.get(application, -1) + self.chance.randrange(4))
            plan = Plan(kind, seen, set(), set(), fresh, txn=txn)
            return plan, lambda adds: append(snapshot, adds, txn=by(*txn), checkpoint=False)
        if kind == "derive":
            days = set(self.chance.sample(DAYS, 2))
            plan = Plan(kind, seen, days, set(), fresh)
            reads = Reads(where=Or(tuple(map(on, days))))
            return plan, lambda adds: append(snapshot, adds, reads=reads, checkpoint=False)
        if kind == "delete" and mine:
            victim = self.chance.choice(mine)
            plan = Plan(kind, seen, {day}, {victim}, {})
            reads = Reads(where=on(day))
            return plan, lambda adds: rewrite(snapshot, removes=[victim], adds=adds, reads=reads, checkpoint=False)
        if kind == "partition":
            plan = Plan(kind, seen, {day}, set(mine), fresh)
            return plan, lambda adds: replace_partitions(snapshot, adds, checkpoint=False)
        if kind == "where":
            plan = Plan(kind, seen, {day}, set(mine), fresh)
            return plan, lambda adds: overwrite(snapshot, adds, where=on(day), checkpoint=False)
        if kind == "overwrite" and self.chance.random() < 0.3:
            plan = Plan(kind, seen, set(DAYS), set(version.files), fresh)
            return plan, lambda adds: overwrite(snapshot, adds, checkpoint=False)
        if kind == "alter" and self.chance.random() < 0.3:
            plan = Plan(kind, seen, set(), set(), {})
            return plan, lambda adds: alter(snapshot, properties={"n": f"{next(self.row)}"}, checkpoint=False)
        if len(mine) > 1:
            both = mine[:2]
            rows = version.files[both[0]][1] | version.files[both[1]][1]
            plan = Plan("compact", seen, set(), set(both), dict([self.new(day, rows)]), data_change=False)
            return plan, lambda adds: compact(snapshot, removes=both, adds=adds, checkpoint=False)
        return self.decide()

    def step(self):
        plan, act = self.decide()
        adds = [named(name, rows=len(rows), day=day) for name, (day, rows) in plan.adds.items()]
        reason = self.reason(plan)
        before = len(self.model)
        try:
            done = act(adds)
        except CommitConflict as error:
            done, said = None, type(error).__name__
        if done is None:
            assert reason not in {"", "there"}, (plan, said)
            assert open_snapshot(self.place).version == before - 1
            return said
        assert isinstance(done, Committed)
        if not done.written:
            assert reason == "there", plan
            return "there"
        assert not reason, (plan, reason)
        assert done.version == before
        self.follow(plan)
        return "committed"

    def follow(self, plan):
        last = self.model[-1]
        files = {name: said for name, said in last.files.items() if name not in plan.removes} | plan.adds
        applications = dict(last.applications) | ({} if plan.txn is None else dict([plan.txn]))
        self.model.append(Version(files, last.settings + (plan.kind == "alter"), applications))
        self.blind.append(not plan.days and not plan.removes)
        self.changed.append(plan.data_change)
        self.snapshots.append(open_snapshot(self.place))
        snapshot = self.snapshots[-1]
        assert snapshot.version == len(self.model) - 1
        assert sorted(snapshot.paths()) == sorted(files)

    def reason(self, plan):
        """Return why a change cannot be applied at the end of the log, from rows and files alone."""
        then = self.model[plan.seen]
        if plan.txn is not None:
            application, number = plan.txn
            if then.applications.get(application, -1) >= number:
                return "there"
            # The first conflicting commit decides.
            for before, version in pairwise(self.model[plan.seen :]):
                if version.settings != before.settings:
                    return "settings"
                last = version.applications.get(application, -1)
                if last != before.applications.get(application, -1):
                    return "there" if last >= number else "application"
            return ""
        now = self.model[-1]
        if now.settings != then.settings:
            return "settings"
        if not plan.removes <= now.files.keys():
            return "gone"
        if not plan.days:
            return ""
        read = {name for name, (day, _) in then.files.items() if day in plan.days}
        if not read <= now.files.keys():
            return "rearranged or removed"
        for at in range(plan.seen + 1, len(self.model)):
            came = {
                name: said
                for name, said in self.model[at].files.items()
                if name not in self.model[at - 1].files and said[0] in plan.days
            }
            if came and self.changed[at] and not (self.level == "WriteSerializable" and self.blind[at]):
                return "came"
        return ""


def on(day):
    return IsNull(("day",)) if day is None else Compare(("day",), Op.EQ, pa.scalar(day))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("level", ["Serializable", "WriteSerializable"])
def test_a_history_could_have_been_made_in_turn(tmp_path, level, seed):
    world = World(tmp_path / "table", level, seed)
    for _ in range(60):
        try:
            world.step()
        except RefusedCommit as error:
            raise AssertionError("a sound change was refused") from error
    rows = sorted(row for _, file_rows in world.model[-1].files.values() for row in file_rows)
    assert len(set(rows)) == len(rows), "a row is there twice"


def test_random_histories_meet_every_kind_of_end(tmp_path):
    ends = set()
    for seed in range(3):
        world = World(tmp_path / str(seed), "Serializable", f"ends {seed}")
        ends |= {world.step() for _ in range(60)}
    assert ends >= {
        "committed",
        "there",
        "ConcurrentAppend",
        "ConcurrentDeleteDelete",
        "ConcurrentDeleteRead",
        "ConcurrentTransaction",
        "MetadataChanged",
    }
