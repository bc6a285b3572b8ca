"use strict";

// Command tasks through mesos-framework: scheduler.js HOST PORT COUNT
//
// Prints one JSON object with the states that each task went through; exits with 0 if all
// of them finished.

const { Scheduler, Mesos } = require("mesos-framework");

const mesos = Mesos.getMesos();
const [host, port, count] = process.argv.slice(2);
const states = {};
let over = false;

const scheduler = new Scheduler({
    masterUrl: host,
    port: port,
    frameworkName: "mesos-framework",
    masterConnectionTimeout: 60,
    frameworkFailoverTimeout: 60,
    logging: { level: "error" },
    restartStates: [],
    tasks: {
        job: {
            priority: 1,
            instances: Number(count),
            commandInfo: new mesos.CommandInfo(
                null, // URI
                new mesos.Environment([new mesos.Environment.Variable("GREETING", "hello")]),
                true, // shell
                "test \"$GREETING\" = hello && test -n \"$HOST\" && echo $GREETING",
                null, // arguments
                null // user
            ),
            resources: { cpus: 0.1, mem: 16, ports: 1, disk: 0 },
        },
    },
});

function finish(code, error) {
    if (over) {
        return;
    }
    over = true;
    console.log(JSON.stringify({ states: states, error: error || null }));
    scheduler.once("sent_teardown", () => process.exit(code));
    scheduler.teardown();
}

scheduler.on("update", (update) => {
    const id = update.status.task_id.value;
    (states[id] = states[id] || []).push(update.status.state);
    const last = Object.values(states).map((list) => list[list.length - 1]);
    if (last.some((state) => ["TASK_FAILED", "TASK_LOST", "TASK_ERROR"].includes(state))) {
        finish(1, update.status);
    } else if (last.filter((state) => state === "TASK_FINISHED").length === Number(count)) {
        finish(0);
    }
});
scheduler.on("error", (error) => {
    if (!over) {
        finish(1, error.message || String(error));
    }
});
scheduler.on("ready", () => scheduler.subscribe());
setTimeout(() => finish(1, "not done in time"), 80000);
