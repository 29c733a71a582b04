"""A Slurm in memory with a clock of its own: for what the real one is too slow or too obedient to show.

It is a double, beside the tests against a real slurmctld, never instead of them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from ringsched.clusters.slurm.comments import Note, note_text
from ringsched.clusters.slurm.jobs import tasks_in
from ringsched.clusters.slurm.values import gpu_count, gpu_indices
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
        self.types = dict.fromkeys(gpus, "")
        self.features = dict.fromkeys(gpus, "")
        self.cpus = {name: 4 * count for name, count in gpus.items()}
        self.partitions = {"gpu": f"Nodes={','.join(gpus)}"}
        self.reservations: dict[str, dict[str, str]] = {}
        self.settings = {"PriorityType": "priority/basic", "SelectTypeParameters": "CR_CORE"}
        self.started: list[int] = []  # ids, as often as they started
        self._last = 0

    def clock(self) -> float:
        return self.now_s

    def add(
        self, comment: object, *, tasks: int, length_s: float = 10.0, note: Note | None = None, **more: Any
    ) -> int:
        """A held job, as `sbatch --hold` makes it."""
        self._last += 1
        text = comment if isinstance(comment, str) else json.dumps({"ringsched": comment})
        if note is not None:
            text = note_text(note, text)
        self.lengths_s[self._last] = length_s
        self.jobs[self._last] = {
            "job_id": self._last, "het_job_id": 0, "het_job_offset": 0, "job_state": "PENDING", "priority": 0,
            "state_reason": "JobHeldUser", "user_id": 1000, "group_id": 1000, "user_name": "ann",
            "partition": "gpu", "name": "train", "comment": text, "tasks": tasks,
            "cpus": tasks, "tres_per_task": "gres:gpu:1", "tasks_per_node": 0, "required_nodes": "",
            "tres_per_node": "", "tres_per_job": "", "node_count": 1, "array_job_id": 0,
            "array_task_id": None,
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

    def ask(self, *arguments: str) -> str:
        if arguments[0] == "squeue":
            return json.dumps({"jobs": list(self.jobs.values()), "errors": []})
        if arguments[:2] == ("sinfo", "--json"):
            return json.dumps({"nodes": list(self._nodes()), "errors": []})
        return "\n".join(self._shown(arguments[2]))

    def _shown(self, what: str) -> Iterator[str]:
        if what == "topology":
            raise AdapterError("no topology", refused=True)
        if what == "config":
            yield from (f"{key} = {value}" for key, value in self.settings.items())
        if what == "partition":
            yield from (f"PartitionName={name} State=UP {rest}" for name, rest in self.partitions.items())
        if what == "reservation":
            for name, row in self.reservations.items():
                yield f"ReservationName={name} " + " ".join(f"{key}={value}" for key, value in row.items())

    def tell(self, *words: str, **_: object) -> str:
        self.told.append(words)
        if words[0] == "sbatch":
            given = dict(word.split("=", 1) for word in words if word.startswith("--") and "=" in word)
            return f"{self.add(given['--comment'], tasks=int(given['--ntasks']))}\n"
        if any(word.startswith("ReservationName=") for word in words):
            self._reserve(words)
            return ""
        job = self._job(words[-1] if words[0] == "scancel" else words[2].removeprefix("jobid="))
        if job["job_state"] in ("CANCELLED", "COMPLETED"):
            raise AdapterError("already done", refused=True)
        if words[0] == "scancel":
            job |= {"job_state": "CANCELLED", "end_time": int(self.now_s)}
        elif words[1] == "release":
            job |= {"priority": 1, "state_reason": "None"}
        elif words[1] == "uhold":
            if job["job_state"] != "PENDING":
                raise AdapterError("no longer pending", refused=True)
            job |= {"priority": 0, "state_reason": "JobHeldUser"}
        else:
            self._update(job, words[3:])
        return ""

    def _job(self, text: str) -> dict[str, Any]:
        """The job of this id; a task of an array is split off at its first command, as Slurm does."""
        array, _, task = text.partition("_")
        if not task:
            if int(array) in self.jobs:
                return self.jobs[int(array)]
            raise AdapterError("no such job", refused=True)
        for job in self.jobs.values():
            if (job["array_job_id"], job["array_task_id"]) == (int(array), int(task)):
                return job
        whole = self.jobs[int(array)]
        left = [each for each in tasks_in(whole["array_task_string"]) if each != int(task)]
        self._last += 1
        own = whole | {"job_id": self._last, "array_task_id": int(task), "array_task_string": ""}
        whole["array_task_string"] = ",".join(str(each) for each in left)
        self.jobs[self._last] = own
        self.lengths_s[self._last] = self.lengths_s[int(array)]
        if not left:
            del self.jobs[int(array)]
        return own

    def _reserve(self, words: tuple[str, ...]) -> None:
        fields = dict(word.split("=", 1) for word in words if "=" in word)
        name = fields.pop("ReservationName")
        if words[1] == "create" and name in self.reservations:
            raise AdapterError("Duplicate reservation name", refused=True)
        if words[1] == "delete":
            del self.reservations[name]
            return
        if "EndTime" in fields:
            end_s = self.now_s + int(fields["EndTime"].removeprefix("now+"))
            fields["EndTime"] = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(end_s))
        self.reservations[name] = self.reservations.get(name, {}) | fields

    def _update(self, job: dict[str, Any], words: tuple[str, ...]) -> None:
        fields = {word.partition("=")[0]: word.partition("=")[2] for word in words}
        if "Comment" in fields:
            job["comment"] = fields["Comment"]
        if "ReqNodeList" in fields:
            nodes = fields["ReqNodeList"].split(",")
            job |= {"required_nodes": ",".join(nodes), "node_count": len(nodes), "max_nodes": len(nodes)}
        if "TresPerNode" in fields:
            job |= {"tres_per_node": fields["TresPerNode"], "tres_per_job": ""}
        if "NumTasks" in fields:
            job |= {"tasks": int(fields["NumTasks"]), "tasks_per_node": int(fields["TasksPerNode"])}
        if "NumCPUs" in fields:
            job["cpus"] = int(fields["NumCPUs"])
        nodes = job["required_nodes"].split(",") if job["required_nodes"] else []
        if nodes:
            each = gpu_count(job["tres_per_node"]) or job["tasks"] // len(nodes)
            job["shape"] = [(node, each) for node in nodes]

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
        self.started.append(job["job_id"])

    def _free(self) -> dict[str, list[int]]:
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
            kind = f"{self.types[name]}:" if self.types[name] else ""
            yield {
                "name": name, "gres": f"gpu:{kind}{count}", "gres_used": f"gpu:{used}", "state": state,
                "state_flags": flags, "partitions": self._partitions_of(name), "reason": "",
                "features": self.features[name], "cpus": self.cpus[name], "alloc_cpus": used,
                "real_memory": 64000, "alloc_memory": 0,
            }  # fmt: skip

    def _partitions_of(self, node: str) -> list[str]:
        return [name for name, rest in self.partitions.items() if node in rest.split()[0][6:].split(",")]
