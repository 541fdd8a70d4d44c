import { expect, test } from "vitest";
import { firstOf, pageOf } from "./firstRequests";

test.each([
  ["", "start", ["/experiments?limit=8", "/reproductions"]],
  ["#/", "start", ["/experiments?limit=8", "/reproductions"]],
  ["#/runs", "runs", ["/runs?limit=60&sort=newest&total=true"]],
  ["#/runs?status=done", "runs", []],
  [
    "#/runs/53f63cfa972c57bb2195?flows=app",
    "run",
    ["/runs/53f63cfa972c57bb2195", "/runs/53f63cfa972c57bb2195/outline"],
  ],
  ["#/experiments/53f63cfa972c57bb", "run", ["/experiments/53f63cfa972c57bb"]],
  ["#/experiments/53f63cfa972c57bb/explore?show=bands", "explore", []],
  ["#/lab/tokens", "lab", []],
])("the first requests of %s", (hash, page, paths) => {
  expect([pageOf(hash), firstOf(hash)]).toEqual([page, paths]);
});
