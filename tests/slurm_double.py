"""A Slurm in memory with a clock of its own: for what the real one is too slow or too obedient to show.

It is a double, beside the tests against a real slurmctld, never instead of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ringsched.clusters.slurm.commands import InMemory
from ringsched.errors import AdapterError


class SlurmDouble:
    """Nodes, jobs, and just as much of the commands as the controller uses."""

    def __init__(self, gpus: dict[str, int], *, now_s: float = 1_000_000.0) -> None:
        self.now_s = now_s
        self.gpus = gpus
        self.states = dict.fromkeys(gpus, ("idle", []))
        self.jobs: dict[int, dict[str, Any]] = {}
        self.lengths_s: dict[int, float] = {}  # how long a job really takes
        self.told: list[tuple[str, ...]] = []
        self._last = 0
        self._request: tuple[str, int] | None = None

    def clock(self) -> float:
        return self.now_s

    def add(self, comment: object, *, tasks: int, length_s: float = 10.0, **more: Any) -> int:
        """A held job, as `sbatch --hold` makes it."""
        self._last += 1
        text = comment if isinstance(comment, str) else json.dumps({"ringsched": comment})
        self.lengths_s[self._last] = length_s
        self.jobs[self._last] = {
            "job_id": self._last, "het_job_id": 0, "het_job_offset": 0, "job_state": "PENDING", "priority": 0,
            "state_reason": "JobHeldUser", "user_id": 1000, "group_id": 1000, "user_name": "ann",
            "partition": "gpu", "name": "train", "comment": text, "admin_comment": "", "tasks": tasks,
            "cpus": tasks, "tres_per_task": "gres:gpu:1", "tasks_per_node": 0, "required_nodes": "",
            "nodes": "", "gres_detail": [], "submit_time": int(self.now_s), "eligible_time": 0,
            "start_time": 0, "end_time": 0, "restart_cnt": 0, "max_nodes": 0, "command": "/train.sh",
            "current_working_directory": "/w", "requeue": True,
        } | more  # fmt: skip
        return self._last

    def pass_time(self, seconds: float) -> None:
        """Jobs end, and those released start where they must; a minute later Slurm forgets them."""
        self.now_s += seconds
        for job in list(self.jobs.values()):
            end_s = job["start_time"] + self.lengths_s[job["job_id"]]
            if job["job_state"] == "RUNNING" and self.now_s >= end_s:
                job |= {"job_state": "COMPLETED", "gres_detail": [], "end_time": int(self.now_s)}
            elif job["job_state"] == "PENDING" and job["priority"]:
                self._start(job)
            elif job["job_state"] in ("COMPLETED", "CANCELLED") and self.now_s - job["end_time"] > 60:
                del self.jobs[job["job_id"]], self.lengths_s[job["job_id"]]

    def ask(self, *arguments: str, **_: object) -> str:
        if arguments[0] == "squeue":
            return json.dumps({"jobs": list(self.jobs.values()), "errors": []})
        if arguments[:2] == ("sinfo", "--json"):
            return json.dumps({"nodes": list(self._nodes()), "errors": []})
        if arguments[:3] == ("scontrol", "show", "topology"):
            raise AdapterError("no topology", refused=True)
        if arguments[:3] == ("scontrol", "write", "batch_script"):
            return "#!/bin/sh\n#SBATCH -n 3\nsleep 1\n"
        raise AssertionError(arguments)

    def tell(self, *arguments: str | InMemory, **_: object) -> str:
        words = tuple(word if isinstance(word, str) else word.option for word in arguments)
        self.told.append(words)
        if words[0] == "sbatch":
            comment = next(word for word in words if word.startswith("--comment="))
            tasks = sum(int(word.partition("=")[2]) for word in words if word.startswith("--ntasks="))
            job_id = self.add(comment.removeprefix("--comment="), tasks=tasks)
            nodes = [word.partition("=")[2] for word in words if word.startswith("--nodelist=")]
            each = [int(word.partition("=")[2]) for word in words if word.startswith("--ntasks-per-node=")]
            # One component stands for all, so that starting it is simple.
            self.jobs[job_id]["shape"] = [
                (node, count) for listed, count in zip(nodes, each, strict=True) for node in listed.split(",")
            ]
            return f"{job_id}\n"
        job = self.jobs.get(int(words[-1].removeprefix("jobid=") if words[0] == "scancel" else _id(words)))
        if job is None or job["job_state"] in ("CANCELLED", "COMPLETED"):
            raise AdapterError("already done", refused=True)
        if words[0] == "scancel":
            job |= {"job_state": "CANCELLED", "end_time": int(self.now_s)}
        elif words[1] == "release":
            job["priority"] = 1
        elif words[1] == "uhold":
            job["priority"] = 0
        else:
            self._update(job, words[3:])
        return ""

    def _update(self, job: dict[str, Any], words: tuple[str, ...]) -> None:
        fields = {word.partition("=")[0]: word.partition("=")[2] for word in words}
        if "AdminComment" in fields:
            job["admin_comment"] = fields["AdminComment"]
        if "ReqNodeList" in fields:
            job["required_nodes"] = fields["ReqNodeList"]
            job["tasks_per_node"] = int(fields["TasksPerNode"])
            nodes = fields["ReqNodeList"].split(",")
            job["shape"] = [(node, int(fields["TasksPerNode"])) for node in nodes]

    def _start(self, job: dict[str, Any]) -> None:
        free = self._free()
        shape = job.get("shape", [])
        if not shape or any(len(free[node]) < count or self.states[node][1] for node, count in shape):
            return
        given = {node: ",".join(str(index) for index in free[node][:count]) for node, count in shape}
        details = [f"gpu:{count}(IDX:{given[node]})" for node, count in shape]
        job |= {
            "job_state": "RUNNING", "start_time": int(self.now_s), "gres_detail": details,
            "nodes": ",".join(node for node, _ in shape), "end_time": int(self.now_s) + 10**9,
        }  # fmt: skip

    def _free(self) -> dict[str, list[int]]:
        from ringsched.clusters.slurm.values import gpu_indices

        free = {name: list(range(count)) for name, count in self.gpus.items()}
        for job in self.jobs.values():
            if job["job_state"] == "RUNNING":
                for node, detail in zip(job["nodes"].split(","), job["gres_detail"], strict=True):
                    free[node] = [index for index in free[node] if index not in gpu_indices(detail)]
        return free

    def _nodes(self) -> Iterator[dict[str, Any]]:
        free = self._free()
        for name, count in self.gpus.items():
            state, flags = self.states[name]
            used = count - len(free[name])
            yield {
                "name": name, "gres": f"gpu:{count}", "gres_used": f"gpu:{used}", "state": state,
                "state_flags": flags, "partitions": ["gpu"], "reason": "",
            }  # fmt: skip


def _id(words: tuple[str, ...]) -> str:
    return words[2].removeprefix("jobid=")
