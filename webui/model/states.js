// Task states, in the order in which a task goes through them, and what they are called.

const STATES = [
  ["TASK_STAGING", "staging", "the agent gets it ready"],
  ["TASK_STARTING", "starting", "its executor starts it"],
  ["TASK_RUNNING", "running", "it runs"],
  ["TASK_KILLING", "being killed", "it was told to end, and may take its grace period"],
  ["TASK_UNREACHABLE", "unreachable", "its agent does not answer; it may still run"],
  ["TASK_FINISHED", "finished", "it ended by itself, without an error"],
  ["TASK_KILLED", "killed", "it was ended on request"],
  ["TASK_FAILED", "failed", "it ended with an error"],
  ["TASK_ERROR", "refused", "its description is not valid"],
  ["TASK_LOST", "lost", "it never ran, or nobody knows what became of it"],
  ["TASK_DROPPED", "dropped", "it never ran: its agent or its resources were gone"],
  ["TASK_GONE", "gone", "its agent is gone, and the task with it"],
  ["TASK_GONE_BY_OPERATOR", "gone", "an operator declared its agent to be gone"],
  ["TASK_UNKNOWN", "unknown", "the master does not know this task"],
];
const BY_NAME = new Map(STATES.map(([name, word, meaning], order) => [name, { word, meaning, order }]));
const LAST_LIVE = BY_NAME.get("TASK_UNREACHABLE").order;

const of = (state) => BY_NAME.get(state) || { word: state, meaning: "", order: STATES.length };

export const stateWord = (state) => of(state).word;
export const stateMeaning = (state) => of(state).meaning;
export const stateOrder = (state) => of(state).order;
export const isOver = (state) => of(state).order > LAST_LIVE;
export const isUnreachable = (state) => state === "TASK_UNREACHABLE";
export const isBad = (state) => ["TASK_FAILED", "TASK_ERROR", "TASK_LOST", "TASK_DROPPED",
                                 "TASK_GONE", "TASK_GONE_BY_OPERATOR"].includes(state);
export const ALL_STATES = STATES.map(([name]) => name);
