/* The wire of a recorded session of Apache Mesos 1.12: an agent registers, a task is
 * launched, reports and is acknowledged, the master is restarted and the agent comes
 * back. What the agent said goes in byte for byte; what the master said must come out
 * so. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/master_driver.h"

#define MASTER "b8f92f84-d3c4-4952-8518-9e67b0dcc54b"
#define AGENT "slave(1)@127.0.0.1:15234"

static const char register_agent[] =
	"CnEKCWxvY2FsaG9zdBoWCgRjcHVzEAAaCQkAAAAAAAAQQDIBKhoVCgNtZW0QABoJCQAAAAAAALBAMgEq"
	"GhYKBGRpc2sQABoJCQAAAAAAALBAMgEqGhgKBXBvcnRzEAEiCgoICJjyARD/+QEyASo4AUCCdxIGMS4x"
	"Mi4wIgIIASICCAIiAggDIgIIBCICCAUiAggGIgIIByICCAgqEgoQIVdRBTsCTKKdTaLQk6ktwA==";
static const char registered[] =
	"CikKJ2I4ZjkyZjg0LWQzYzQtNDk1Mi04NTE4LTllNjdiMGRjYzU0Yi1TMBIJCQAAAAAAAABA";
static const char update_agent[] =
	"CikKJ2I4ZjkyZjg0LWQzYzQtNDk1Mi04NTE4LTllNjdiMGRjYzU0Yi1TMCgAMgA6EgoQIVdRBTsCTKKd"
	"TaLQk6ktwEIA";
static const char run_task[] =
	"Ek0KBHJvb3QSBmdvbGRlbhorCiliOGY5MmY4NC1kM2M0LTQ5NTItODUxOC05ZTY3YjBkY2M1NGItMDAw"
	"MCEAAAAAAABOQCgBUgIIBmIBKhoKQDAuMC4wLjA6MCKAAQoGdGFzay0xEggKBnRhc2stMRopCidiOGY5"
	"MmY4NC1kM2M0LTQ5NTItODUxOC05ZTY3YjBkY2M1NGItUzAiGAoEY3B1cxAAGgkJmpmZmZmZuT9aAwoB"
	"KiIXCgNtZW0QABoJCQAAAAAAAEBAWgMKASo6DhoKc2xlZXAgMTAwMDABKhQSEgoQIVdRBTsCTKKdTaLQ"
	"k6ktwDAB";
static const char starting[] =
	"Cp0CCisKKWI4ZjkyZjg0LWQzYzQtNDk1Mi04NTE4LTllNjdiMGRjYzU0Yi0wMDAwEggKBnRhc2stMRop"
	"CidiOGY5MmY4NC1kM2M0LTQ5NTItODUxOC05ZTY3YjBkY2M1NGItUzAimwEKCAoGdGFzay0xEAAqKQon"
	"YjhmOTJmODQtZDNjNC00OTUyLTg1MTgtOWU2N2IwZGNjNTRiLVMwMfYd2CtWwNpBOggKBnRhc2stMUgC"
	"WhDMwjKlwzZGF6AKjvkKS0/ZajsKDSoLEgkxMjcuMC4wLjEYov0BIiYKJGZjMTk1MmJkLTViMDAtNGU3"
	"NS05YjYzLTNlODcxNjU3YmFlNSn2HdgrVsDaQTIQzMIypcM2RhegCo75CktP2TgAEhhzbGF2ZSgxKUAx"
	"MjcuMC4wLjE6MTUyMzQ=";
static const char starting_acknowledged[] =
	"CikKJ2I4ZjkyZjg0LWQzYzQtNDk1Mi04NTE4LTllNjdiMGRjYzU0Yi1TMBIrCiliOGY5MmY4NC1kM2M0"
	"LTQ5NTItODUxOC05ZTY3YjBkY2M1NGItMDAwMBoICgZ0YXNrLTEiEMzCMqXDNkYXoAqO+QpLT9k=";
static const char running[] =
	"Cp0CCisKKWI4ZjkyZjg0LWQzYzQtNDk1Mi04NTE4LTllNjdiMGRjYzU0Yi0wMDAwEggKBnRhc2stMRop"
	"CidiOGY5MmY4NC1kM2M0LTQ5NTItODUxOC05ZTY3YjBkY2M1NGItUzAimwEKCAoGdGFzay0xEAEqKQon"
	"YjhmOTJmODQtZDNjNC00OTUyLTg1MTgtOWU2N2IwZGNjNTRiLVMwMVvq2CtWwNpBOggKBnRhc2stMUgC"
	"WhDek61tgoRJUqQO9v18A08XajsKDSoLEgkxMjcuMC4wLjEYov0BIiYKJGZjMTk1MmJkLTViMDAtNGU3"
	"NS05YjYzLTNlODcxNjU3YmFlNSlb6tgrVsDaQTIQ3pOtbYKESVKkDvb9fANPFzgBEhhzbGF2ZSgxKUAx"
	"MjcuMC4wLjE6MTUyMzQ=";
static const char running_acknowledged[] =
	"CikKJ2I4ZjkyZjg0LWQzYzQtNDk1Mi04NTE4LTllNjdiMGRjYzU0Yi1TMBIrCiliOGY5MmY4NC1kM2M0"
	"LTQ5NTItODUxOC05ZTY3YjBkY2M1NGItMDAwMBoICgZ0YXNrLTEiEN6TrW2ChElSpA72/XwDTxc=";
static const char reregister[] =
	"EpwBCglsb2NhbGhvc3QaFgoEY3B1cxAAGgkJAAAAAAAAEEAyASoaFQoDbWVtEAAaCQkAAAAAAACwQDIB"
	"KhoWCgRkaXNrEAAaCQkAAAAAAACwQDIBKhoYCgVwb3J0cxABIgoKCAiY8gEQ//kBMgEqMikKJ2I4Zjky"
	"Zjg0LWQzYzQtNDk1Mi04NTE4LTllNjdiMGRjYzU0Yi1TMDgBQIJ3GvUDCgZ0YXNrLTESCAoGdGFzay0x"
	"GisKKWI4ZjkyZjg0LWQzYzQtNDk1Mi04NTE4LTllNjdiMGRjYzU0Yi0wMDAwKikKJ2I4ZjkyZjg0LWQz"
	"YzQtNDk1Mi04NTE4LTllNjdiMGRjYzU0Yi1TMDABOhsKBGNwdXMQABoJCZqZmZmZmbk/MgEqWgMKASo6"
	"GgoDbWVtEAAaCQkAAAAAAABAQDIBKloDCgEqQpsBCggKBnRhc2stMRAAKikKJ2I4ZjkyZjg0LWQzYzQt"
	"NDk1Mi04NTE4LTllNjdiMGRjYzU0Yi1TMDH2HdgrVsDaQToICgZ0YXNrLTFIAloQzMIypcM2RhegCo75"
	"CktP2Wo7Cg0qCxIJMTI3LjAuMC4xGKL9ASImCiRmYzE5NTJiZC01YjAwLTRlNzUtOWI2My0zZTg3MTY1"
	"N2JhZTVCmwEKCAoGdGFzay0xEAEqKQonYjhmOTJmODQtZDNjNC00OTUyLTg1MTgtOWU2N2IwZGNjNTRi"
	"LVMwMVvq2CtWwNpBOggKBnRhc2stMUgCWhDek61tgoRJUqQO9v18A08XajsKDSoLEgkxMjcuMC4wLjEY"
	"ov0BIiYKJGZjMTk1MmJkLTViMDAtNGU3NS05YjYzLTNlODcxNjU3YmFlNUgBUhDek61tgoRJUqQO9v18"
	"A08XMgYxLjEyLjBCTQoEcm9vdBIGZ29sZGVuGisKKWI4ZjkyZjg0LWQzYzQtNDk1Mi04NTE4LTllNjdi"
	"MGRjYzU0Yi0wMDAwIQAAAAAAAE5AKAFSAggGYgEqSgIIAUoCCAJKAggDSgIIBEoCCAVKAggGSgIIB0oC"
	"CAhSEgoQIVdRBTsCTKKdTaLQk6ktwA==";
static const char reregistered[] =
	"CikKJ2I4ZjkyZjg0LWQzYzQtNDk1Mi04NTE4LTllNjdiMGRjYzU0Yi1TMBoJCQAAAAAAAABA";
static const char update_framework[] =
	"CisKKWI4ZjkyZjg0LWQzYzQtNDk1Mi04NTE4LTllNjdiMGRjYzU0Yi0wMDAwEgpAMC4wLjAuMDowGk0K"
	"BHJvb3QSBmdvbGRlbhorCiliOGY5MmY4NC1kM2M0LTQ5NTItODUxOC05ZTY3YjBkY2M1NGItMDAwMCEA"
	"AAAAAABOQCgBUgIIBmIBKg==";

static struct driver *d;

static void set_up(void)
{
	d = driver_prepare();
	d->options.id = MASTER;
	d->options.agent_ping_timeout = SECOND;
	d->options.max_agent_ping_timeouts = 2; /* as recorded */
	driver_start(d);
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_wire, .init = set_up, .fini = tear_down);

static void hear(const ProtobufCMessageDescriptor *type, const char *base64)
{
	driver_bytes(d, AGENT, type, base64);
}

static void said(const char *name, const char *base64)
{
	const char *last = driver_last_bytes(d, name);

	cr_expect(last && !strcmp(last, base64), "%s: %s", name, last ? last : "nothing");
}

#define FID "\"framework_id\":{\"value\":\"" MASTER "-0000\"}"
#define INFO                                                                                       \
	"\"roles\":[\"*\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"}],\"checkpoint\":true,"      \
	"\"failover_timeout\":60,\"user\":\"root\",\"name\":\"golden\""

static void acknowledge(uint64_t stream, const char *uuid)
{
	driver_call(d, stream,
		    "{\"type\":\"ACKNOWLEDGE\"," FID
		    ",\"acknowledge\":{\"agent_id\":{\"value\":\"" MASTER
		    "-S0\"},\"task_id\":{\"value\":\"task-1\"},\"uuid\":\"%s\"}}",
		    uuid);
}

Test(master_wire, a_session_of_mesos)
{
	uint64_t s;

	hear(&mesos__internal__register_slave_message__descriptor, register_agent);
	said("SlaveRegisteredMessage", registered);
	hear(&mesos__internal__update_slave_message__descriptor, update_agent);
	s = driver_subscribe(d, NULL, INFO);
	driver_call(
		d, s,
		"{\"type\":\"ACCEPT\"," FID ",\"accept\":{\"offer_ids\":[{\"value\":\"" MASTER
		"-O0\"}],\"operations\":[{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":[{"
		"\"name\":\"task-1\",\"task_id\":{\"value\":\"task-1\"},\"agent_id\":{\"value\":"
		"\"" MASTER
		"-S0\"},\"resources\":" RESOURCES(0.1, 32) ",\"command\":{\"shell\":true,"
							   "\"value\":\"sleep 1000\"}}]}}]}}");
	said("RunTaskMessage", run_task);
	hear(&mesos__internal__status_update_message__descriptor, starting);
	expect(d, "UPDATE {", "TASK_STARTING", "\"uuid\":\"zMIypcM2RhegCo75CktP2Q==\"",
	       "\"executor_id\":{\"value\":\"task-1\"}", "\"container_status\"");
	acknowledge(s, "zMIypcM2RhegCo75CktP2Q==");
	said("StatusUpdateAcknowledgementMessage", starting_acknowledged);
	hear(&mesos__internal__status_update_message__descriptor, running);
	acknowledge(s, "3pOtbYKESVKkDvb9fANPFw==");
	said("StatusUpdateAcknowledgementMessage", running_acknowledged);

	driver_restart(d, "another");
	hear(&mesos__internal__reregister_slave_message__descriptor, reregister);
	said("SlaveReregisteredMessage", reregistered);
	driver_subscribe(d, MASTER "-0000", INFO);
	said("UpdateFrameworkMessage", update_framework);
	cr_expect_eq(driver_count(d, "TASK_STAGING"), 0);
}
