#!/usr/bin/env python3
"""Plan, apply, plan again: Drain has to come to an end, and the order of the input must not matter.

usage: bench_again.py BINARY CLUSTER.json   (CLUSTER.json: one List, as to_k8s.py makes it)

Prints one line per run; exit 1 when a shuffled input gives other bytes, when a plan raises the number of occupied
nodes, or when the sixth run still moves something.
"""
import json
import random
import subprocess
import sys

MOST_RUNS = 5


def plan(binary, cluster):
    command = [binary, "dryrun", "-q", "--snapshot", "-", "--algorithm", "drain", "-o", "json"]
    return subprocess.run(command, input=json.dumps(cluster).encode(), stdout=subprocess.PIPE, check=True).stdout


def cards(pod):
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    return sum(int(amount) for name, amount in requests.items() if "/" in name)


def occupied(cluster):
    return len({i["spec"]["nodeName"] for i in cluster["items"] if i["kind"] == "Pod" and cards(i)})


def main():
    binary, path = sys.argv[1:3]
    cluster = json.load(open(path))
    first = plan(binary, cluster)
    shuffled = dict(cluster, items=random.Random(7).sample(cluster["items"], len(cluster["items"])))
    if plan(binary, shuffled) != first:
        sys.exit("%s: the order of the input changes the plan" % path)
    pods = {(i["metadata"]["namespace"], i["metadata"]["name"]): i for i in cluster["items"] if i["kind"] == "Pod"}
    out, counts = first, [occupied(cluster)]
    for run in range(1, MOST_RUNS + 2):
        moves = json.loads(out)["status"]["plan"]["moves"]
        if not moves:
            print("%s: occupied %s, nothing left after %d runs" % (path, " -> ".join(map(str, counts)), run - 1))
            return
        for group in moves:
            for pod in group["pods"]:
                pods[group["namespace"], pod["name"]]["spec"]["nodeName"] = pod["toNode"]
        counts.append(occupied(cluster))
        if counts[-1] > counts[-2]:
            sys.exit("%s: occupied nodes rise: %s" % (path, counts))
        out = plan(binary, cluster)
    sys.exit("%s: still moving after %d runs: %s" % (path, MOST_RUNS, counts))


if __name__ == "__main__":
    main()
