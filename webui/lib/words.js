// Numbers, times and reasons in words.

const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const ago = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

export const amount = (value) => number.format(value);

// "1 task", "3 tasks": of a plural that ends in s.
export const counted = (count, label) =>
  `${amount(count)} ${count === 1 ? label.replace(/s$/, "") : label}`;

// Megabytes, as resources count them.
export function megabytes(value) {
  if (value >= 1024 * 1024) return `${number.format(value / 1024 / 1024)} TB`;
  if (value >= 1024) return `${number.format(value / 1024)} GB`;
  return `${number.format(value)} MB`;
}

export function bytes(value) {
  if (value < 1024) return `${value} B`;
  return value < 1024 * 1024 ? `${number.format(value / 1024)} KB` : megabytes(value / 1024 / 1024);
}

export const resource = (name, value) =>
  (name === "mem" || name === "disk" ? megabytes(value) : amount(value));

export const RESOURCES = [["cpus", "CPUs"], ["mem", "Memory"], ["disk", "Disk"], ["gpus", "GPUs"]];

export const percent = (value) => `${number.format(Math.round(value * 1000) / 10)} %`;

// In the reader's zone; "" for never.
export const date = (ms) => (ms ? dates.format(ms) : "");
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

export function since(ms, now = Date.now()) {
  if (!ms) return "";
  const seconds = (ms - now) / 1000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) || UNITS[3];
  return ago.format(Math.round(seconds / size), unit);
}

export function duration(ms) {
  const parts = [];
  let rest = Math.round(ms / 1000);
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count) parts.push(`${count} ${unit}${count > 1 ? "s" : ""}`);
    if (parts.length === 2) break;
  }
  return parts.join(" ") || "less than a second";
}

const REASONS = {
  REASON_COMMAND_EXECUTOR_FAILED: "The executor of the command failed.",
  REASON_CONTAINER_LAUNCH_FAILED: "Its container could not be started.",
  REASON_CONTAINER_LIMITATION: "Its container went beyond a limit.",
  REASON_CONTAINER_LIMITATION_DISK: "It used more disk than it asked for.",
  REASON_CONTAINER_LIMITATION_MEMORY: "It used more memory than it asked for.",
  REASON_CONTAINER_PREEMPTED: "It made way for others: it ran on what may be taken back.",
  REASON_CONTAINER_UPDATE_FAILED: "The limits of its container could not be changed.",
  REASON_MAX_COMPLETION_TIME_REACHED: "It ran longer than it said it would.",
  REASON_EXECUTOR_REGISTRATION_TIMEOUT: "Its executor did not come up in time.",
  REASON_EXECUTOR_REREGISTRATION_TIMEOUT: "Its executor did not come back after the agent restarted.",
  REASON_EXECUTOR_TERMINATED: "Its executor ended.",
  REASON_EXECUTOR_UNREGISTERED: "Its executor was gone before the task reached it.",
  REASON_FRAMEWORK_REMOVED: "Its framework was removed.",
  REASON_GC_ERROR: "The agent could not keep its sandbox from being collected.",
  REASON_INVALID_FRAMEWORKID: "It named a framework that is not the one that launched it.",
  REASON_INVALID_OFFERS: "The offer that it was launched on was not valid any more.",
  REASON_IO_SWITCHBOARD_EXITED: "What connects its input and output ended.",
  REASON_MASTER_DISCONNECTED: "The scheduler had no connection to the master.",
  REASON_RECONCILIATION: "The scheduler asked what became of it.",
  REASON_RESOURCES_UNKNOWN: "The agent does not have the resources that it was given.",
  REASON_AGENT_DISCONNECTED: "Its agent was not connected.",
  REASON_AGENT_DRAINING: "Its agent is being drained.",
  REASON_AGENT_REMOVED: "Its agent was removed: it did not answer, or left.",
  REASON_AGENT_REMOVED_BY_OPERATOR: "An operator removed its agent.",
  REASON_AGENT_REREGISTERED: "Its agent came back.",
  REASON_AGENT_RESTARTED: "Its agent restarted and did not find it again.",
  REASON_AGENT_UNKNOWN: "The master does not know its agent.",
  REASON_TASK_KILLED_DURING_LAUNCH: "It was killed before it had started.",
  REASON_TASK_CHECK_STATUS_UPDATED: "Its check said something new.",
  REASON_TASK_HEALTH_CHECK_STATUS_UPDATED: "Its health check said something new.",
  REASON_TASK_GROUP_INVALID: "Its group of tasks is not valid.",
  REASON_TASK_GROUP_UNAUTHORIZED: "Its framework may not run this group of tasks.",
  REASON_TASK_INVALID: "Its description is not valid.",
  REASON_TASK_UNAUTHORIZED: "Its framework may not run it as this user.",
  REASON_TASK_UNKNOWN: "Nobody knows this task.",
};

export const reason = (name) => REASONS[name] || (name ? name : "");

const SOURCES = { SOURCE_MASTER: "the master", SOURCE_AGENT: "its agent",
                  SOURCE_EXECUTOR: "its executor" };
export const source = (name) => SOURCES[name] || "";
