/* Tasks in Docker containers, as command lines. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/json/json.h"
#include "cli/executor/docker/docker_arguments.h"

static const struct docker_setting setting = {.program = "docker",
					      .socket = DOCKER_SOCKET_DEFAULT,
					      .name = "mesos-c",
					      .sandbox = "/w/s",
					      .mapped = "/mnt/mesos/sandbox"};

static struct arena arena;
static struct err err;

static Mesos__TaskInfo *task_of(const char *members)
{
	const char *text = arena_printf(
		&arena,
		"{\"name\":\"t\",\"task_id\":{\"value\":\"t\"},\"agent_id\":{\"value\":\"a\"},%s}",
		members);
	struct json *json;
	Mesos__TaskInfo *task;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%s", err.text);
	task = json_to_proto(&mesos__task_info__descriptor, json, SPELL_V1, &arena, &err);
	cr_assert(task, "%s", err.text);
	return task;
}

static const char *joined(char **words)
{
	struct buf text = BUF_INIT;
	const char *copy;

	for (; words && *words; words++)
		buf_printf(&text, "%s%s", text.len ? " " : "", *words);
	copy = arena_strdup(&arena, text.data ? text.data : "");
	buf_free(&text);
	return copy;
}

#define DOCKER(members) "\"container\":{\"type\":\"DOCKER\",\"docker\":{\"image\":\"i\"" members "}"
#define SH "\"command\":{\"value\":\"echo $A\"}"
#define ENV " -e MESOS_SANDBOX=/mnt/mesos/sandbox -e MESOS_CONTAINER_NAME=mesos-c"
#define BOX " -v /w/s:/mnt/mesos/sandbox"
#define HOST " --net host"
#define NAME " --name mesos-c i"
#define SCALAR(name, value)                                                                        \
	"{\"name\":\"" name "\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" #value "}}"

static const struct {
	const char *task, *words; /* words without "docker run", or the beginning of why not */
} cases[] = {
	{SH "," DOCKER("") "}", ENV BOX HOST " --entrypoint /bin/sh" NAME " -c echo $A"},
	{"\"command\":{\"shell\":false}," DOCKER("") "}", ENV BOX HOST NAME},
	{"\"command\":{\"shell\":false,\"value\":\"run\",\"arguments\":[\"-x\",\"y z\"]}," DOCKER(
		 "") "}",
	 ENV BOX HOST NAME " run -x y z"},
	{"\"resources\":[" SCALAR("cpus", 0.5) "," SCALAR("mem", 64) "]," DOCKER("") "}",
	 " --cpu-shares 512 --memory 67108864" ENV BOX HOST NAME},
	{"\"resources\":[" SCALAR("cpus", 0.001) "," SCALAR("mem", 1) "]," DOCKER("") "}",
	 " --cpu-shares 2 --memory 33554432" ENV BOX HOST NAME},
	{"\"resources\":[" SCALAR("cpus", 1) "," SCALAR(
		 "mem", 64) "],\"limits\":{\"cpus\":{\"value\":2},"
			    "\"mem\":{\"value\":128}}," DOCKER("") "}",
	 " --cpu-shares 1024 --cpu-quota 200000 --memory-reservation 67108864 --memory "
	 "134217728" ENV BOX HOST NAME},
	{"\"resources\":[" SCALAR("mem", 64) "],\"limits\":{\"cpus\":{\"value\":\"Infinity\"},"
					     "\"mem\":{\"value\":\"Infinity\"}}," DOCKER("") "}",
	 " --memory-reservation 67108864" ENV BOX HOST NAME},
	{"\"command\":{\"shell\":false,\"environment\":{\"variables\":[{\"name\":\"A\",\"value\":"
	 "\"1=2\"},"
	 "{\"name\":\"B\",\"type\":\"SECRET\",\"secret\":{\"type\":\"VALUE\",\"value\":{\"data\":"
	 "\"eA==\"}}}]}}," DOCKER("") "}",
	 " -e A=1=2" ENV BOX HOST NAME},
	{DOCKER(",\"privileged\":true,\"parameters\":[{\"key\":\"ulimit\",\"value\":\"nofile=9\"},"
		"{\"key\":\"label\",\"value\":\"a=b\"}]") "}",
	 " --privileged" ENV BOX HOST " --ulimit=nofile=9 --label=a=b" NAME},
	{DOCKER("") ",\"volumes\":[{\"mode\":\"RO\",\"container_path\":\"/in\",\"host_path\":\"/"
		    "etc\"},"
		    "{\"mode\":\"RW\",\"container_path\":\"rel\",\"host_path\":\"own\"},"
		    "{\"mode\":\"RW\",\"container_path\":\"/fresh\"}]}",
	 ENV " -v /etc:/in:ro -v /w/s/own:/mnt/mesos/sandbox/rel:rw -v /fresh" BOX HOST NAME},
	{DOCKER(",\"volume_driver\":\"nfs\"") ",\"volumes\":[{\"mode\":\"RW\",\"container_path\":"
					      "\"/d\","
					      "\"host_path\":\"share\"}]}",
	 ENV " -v share:/d:rw" BOX " --volume-driver nfs" HOST NAME},
	{DOCKER(",\"network\":\"BRIDGE\",\"port_mappings\":[{\"host_port\":31000,\"container_"
		"port\":80},"
		"{\"host_port\":31001,\"container_port\":53,\"protocol\":\"udp\"}]") ",\"hostname\""
										     ":\"h\"}",
	 ENV BOX " --net bridge --hostname h -p 31000:80 -p 31001:53/udp" NAME},
	{DOCKER(",\"network\":\"NONE\"") "}", ENV BOX " --net none" NAME},
	{DOCKER(",\"network\":\"USER\"") ",\"network_infos\":[{\"name\":\"lan\"}]}",
	 ENV BOX " --net lan" NAME},
	{DOCKER(",\"network\":\"USER\"") "}", "!Multiple or no network infos"},
	{DOCKER(",\"port_mappings\":[{\"host_port\":1,\"container_port\":2}]") "}",
	 "!Port mappings are only supported"},
	{DOCKER("") ",\"hostname\":\"h\"}", "!Unable to set hostname"},
	{"\"container\":{\"type\":\"DOCKER\"}", "!No docker info found"},
};

TestSuite(cli_docker, .timeout = 30);

Test(cli_docker, runs)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char **words;

		arena_init(&arena);
		err.text[0] = '\0';
		words = docker_run_arguments(&arena, &setting, task_of(cases[i].task), &err);
		if (cases[i].words[0] == '!') {
			cr_expect_not(words, "%zu", i);
			cr_expect_eq(
				strncmp(err.text, cases[i].words + 1, strlen(cases[i].words + 1)),
				0, "%zu: %s", i, err.text);
		} else {
			cr_expect_str_eq(joined(words),
					 arena_printf(&arena, "docker run%s", cases[i].words),
					 "%zu: %s", i, joined(words));
		}
		arena_free(&arena);
	}
}

Test(cli_docker, names_a_daemon_that_is_elsewhere)
{
	struct docker_setting other = setting;

	arena_init(&arena);
	other.socket = "/run/x.sock";
	other.program = "/bin/podman";
	cr_expect_str_eq(joined(docker_arguments(&arena, &other, "stop", "-t", "3", "n", NULL)),
			 "/bin/podman -H unix:///run/x.sock stop -t 3 n");
	cr_expect_str_eq(joined(docker_arguments(&arena, &setting, "inspect", "n", NULL)),
			 "docker inspect n");
	arena_free(&arena);
}

Test(cli_docker, inspections)
{
	static const struct {
		const char *output, *address; /* NULL: it does not run */
	} inspections[] = {
		{"", NULL},
		{"no such thing", NULL},
		{"[]", NULL},
		{"{}", NULL},
		{"[1]", NULL},
		{"[{}]", NULL},
		{"[{\"State\":{\"Running\":false}}]", NULL},
		{"[{\"State\":{\"Running\":\"true\"}}]", NULL},
		{"[{\"State\":{\"Running\":true}}]", ""},
		{"[{\"State\":{\"Running\":true},\"NetworkSettings\":{\"IPAddress\":\"10.0.0.1\"}}"
		 "]",
		 "10.0.0.1"},
		{"[{\"State\":{\"Running\":true},\"NetworkSettings\":{\"IPAddress\":\"\","
		 "\"Networks\":{"
		 "\"a\":{\"IPAddress\":\"\"},\"b\":{\"IPAddress\":\"10.0.0.2\"}}}}]",
		 "10.0.0.2"},
		{"[{\"State\":{\"Running\":true},\"NetworkSettings\":{\"IPAddress\":5,\"Networks\":"
		 "7}}]",
		 ""},
	};

	for (size_t i = 0; i < sizeof(inspections) / sizeof(inspections[0]); i++) {
		const char *address;

		arena_init(&arena);
		address = docker_inspected(&arena, inspections[i].output,
					   strlen(inspections[i].output));
		cr_expect_eq(!address, !inspections[i].address, "%zu", i);
		if (address && inspections[i].address)
			cr_expect_str_eq(address, inspections[i].address, "%zu", i);
		arena_free(&arena);
	}
}

#define CHECKED(check, network) "\"health_check\":{" check "}," DOCKER(network) "}"
#define COMMAND(members) "\"type\":\"COMMAND\",\"command\":{" members "}"

Test(cli_docker, health_checks)
{
	static const struct {
		const char *task, *words; /* of the command; "": none; NULL: no check is made */
		bool told;		  /* why */
	} checks[] = {
		{DOCKER("") "}", NULL, false},
		{CHECKED(COMMAND("\"value\":\"a b\""), ""), "docker exec mesos-c /bin/sh -c a b",
		 false},
		{CHECKED(COMMAND("\"value\":\"a b\""), ",\"network\":\"BRIDGE\""),
		 "docker exec mesos-c /bin/sh -c a b", false},
		{CHECKED(COMMAND("\"shell\":false,\"value\":\"p\",\"arguments\":[\"p\",\"-x\"]"),
			 ""),
		 "docker exec mesos-c p -x", false},
		{CHECKED(COMMAND("\"shell\":false,\"value\":\"p\""), ""), "docker exec mesos-c p",
		 false},
		{CHECKED("\"type\":\"TCP\",\"tcp\":{\"port\":1}", ""), "", false},
		{CHECKED("\"type\":\"TCP\",\"tcp\":{\"port\":1}", ",\"network\":\"HOST\""), "",
		 false},
		{CHECKED("\"type\":\"TCP\",\"tcp\":{\"port\":1}", ",\"network\":\"BRIDGE\""), NULL,
		 true},
		{"\"check\":{\"type\":\"TCP\",\"tcp\":{\"port\":1}}," DOCKER("") "}", NULL, false},
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		const Mesos__TaskInfo *checked;
		Mesos__CommandInfo *command;

		arena_init(&arena);
		err.text[0] = '\0';
		checked = docker_checked_task(&arena, &setting, task_of(checks[i].task), &err);
		cr_expect_eq(!checked, !checks[i].words, "%zu", i);
		cr_expect_eq(err.text[0] != '\0', checks[i].told, "%zu: %s", i, err.text);
		command = checked ? checked->health_check->command : NULL;
		if (checked) {
			char **words = arena_alloc(&arena, 16 * sizeof(*words));

			for (size_t k = 0; command && k < command->n_arguments; k++)
				words[k] = command->arguments[k];
			cr_expect_str_eq(joined(words), checks[i].words, "%zu: %s", i,
					 joined(words));
			cr_expect(!command || !strcmp(command->value, "docker"), "%zu", i);
		}
		arena_free(&arena);
	}
}
