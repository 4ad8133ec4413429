"""schema_test.py PROGRAM SCHEMA: what PROGRAM prints (an array of documents) matches SCHEMA, and damaged ones do not."""

import copy
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: the Python package jsonschema is not installed (Debian: python3-jsonschema)")
    sys.exit(77)

program, schema_path = sys.argv[1:]
with open(schema_path, encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
documents = json.loads(subprocess.run([program], check=True, capture_output=True).stdout)
assert documents, "the program printed no documents"

for document in documents:
    validator.validate(document)

crowded = max(documents, key=lambda document: len(document["culprits"]))


def damaged(change):
    document = copy.deepcopy(crowded)
    change(document)
    return document


DAMAGES = {
    "no verdict": lambda d: d.pop("verdict"),
    "unknown verdict": lambda d: d.update(verdict="fine"),
    "other schema": lambda d: d.update(schema="weft.sweep/1"),
    "unknown culprit": lambda d: d["culprits"][0].update(kind="gremlin"),
    "node without a name": lambda d: d["culprits"][0].pop("node"),
    "rail without a rail": lambda d: next(c for c in d["culprits"] if c["kind"] == "rail").pop("rail"),
    "pair of one": lambda d: next(c for c in d["culprits"] if c["kind"] == "pair").update(nodes=["a"]),
    "confidence past 1": lambda d: d["culprits"][0].update(confidence=1.5),
    "bandwidth as text": lambda d: d["culprits"][0].update(measured_gbps="152"),
    "unknown source": lambda d: d["baseline"].update(source="guess"),
    "negative count": lambda d: d.update(asked=-1),
    "finding without subject": lambda d: d["findings"][0].pop("subject"),
    "unresolved without probe": lambda d: d["unresolved"][0].pop("next_probe"),
}
for name, change in DAMAGES.items():
    assert not validator.is_valid(damaged(change)), f"the schema lets this pass: {name}"
print(f"{len(documents)} documents match, {len(DAMAGES)} damaged ones do not")
