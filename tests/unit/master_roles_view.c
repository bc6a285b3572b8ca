/* What each role and those below it hold, as one look at all frameworks and agents finds it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "master/core/roles/roles_view.h"
#include "tests/unit/master_driver.h"

static struct driver *d;

static void set_up(void)
{
	d = driver_create();
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_roles_view, .init = set_up, .fini = tear_down);

/* A role is known by whatever is of it, and by nothing else. */
Test(master_roles_view, roles_that_are_known)
{
	struct roles_view view;
	struct arena arena;

	arena_init(&arena);
	driver_agent(d, AGENT1);
	roles_view_make(&view, d->m, &arena);
	cr_expect_null(view.roles, "'*' is nobody's");
	roles_view_free(&view);
	driver_subscribe(d, NULL, "\"roles\":[\"a\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"}]");
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t", NULL);
	driver_call(
		d, 1,
		"{\"type\":\"UPDATE_FRAMEWORK\",\"framework_id\":{\"value\":\"M-0000\"},"
		"\"update_framework\":{\"framework_info\":{\"user\":\"u\",\"name\":\"n\",\"id\":"
		"{\"value\":\"M-0000\"},\"roles\":[\"b\"],\"capabilities\":[{\"type\":"
		"\"MULTI_ROLE\"}]}}}");
	roles_view_make(&view, d->m, &arena);
	cr_expect(roles_view_find(&view, "a"), "its task is of the role that it left");
	cr_expect(roles_view_find(&view, "b"));
	cr_expect_eq(HASH_COUNT(view.roles), 2);
	roles_view_free(&view);
	arena_free(&arena);
}

/* Those that --roles names, used or not. */
Test(master_roles_view, roles_that_may_be_used)
{
	struct roles_view view;
	struct arena arena;

	driver_destroy(d);
	d = driver_prepare();
	d->options.roles = "a, b";
	driver_start(d);
	driver_subscribe(d, NULL, "\"role\":\"b\"");
	arena_init(&arena);
	roles_view_make(&view, d->m, &arena);
	cr_expect(roles_view_find(&view, "a"));
	cr_expect(roles_view_find(&view, "b"));
	roles_view_free(&view);
	arena_free(&arena);
}

Test(master_roles_view, a_role_may_have_many_frameworks)
{
	char id[16];
	struct roles_view view;
	struct role_view *role;
	struct arena arena;

	for (int i = 0; i < 19; i++)
		driver_subscribe(d, NULL, "\"role\":\"many\"");
	arena_init(&arena);
	roles_view_make(&view, d->m, &arena);
	role = roles_view_find(&view, "many");
	cr_assert(role);
	cr_assert_eq(role->framework_count, 19);
	for (int i = 0; i < 19; i++) {
		snprintf(id, sizeof(id), "M-%04d", i);
		cr_expect_str_eq(role->frameworks[i], id);
	}
	roles_view_free(&view);
	arena_free(&arena);
}

#define SCALAR(name, value, more)                                                                  \
	"{\"name\":\"" name "\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" #value "}" more "}"
#define OF(role) ",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"" role "\"}]"

static void describe_amounts(struct buf *out, const char *name, const struct amount *list)
{
	if (!list)
		return;
	buf_printf(out, " %s ", name);
	amounts_print(list, false, out);
}

/* "role: frameworks F F allocated ... offered ..." a line. */
static const char *described(void)
{
	static struct buf out;
	struct roles_view view;
	struct arena arena;

	arena_init(&arena);
	buf_clear(&out);
	roles_view_make(&view, d->m, &arena);
	for (struct role_view *role = view.roles; role; role = role->hh.next) {
		buf_printf(&out, "%s:", role->name);
		for (size_t i = 0; i < role->framework_count; i++)
			buf_printf(&out, " %s", role->frameworks[i]);
		describe_amounts(&out, "allocated", role->allocated);
		describe_amounts(&out, "offered", role->offered);
		describe_amounts(&out, "reserved", role->reserved);
		describe_amounts(&out, "idle", role->idle);
		describe_amounts(&out, "charged", role->charged);
		describe_amounts(&out, "consumed", role_view_consumed(role, &arena));
		buf_puts(&out, "\n");
	}
	roles_view_free(&view);
	arena_free(&arena);
	return out.data;
}

#define A_RESERVED                                                                                 \
	"a: reserved cpus:2; mem:512 idle cpus:2; mem:512 charged cpus:2; mem:512 consumed "       \
	"cpus:2; mem:512\n"
#define A_B "a/b: reserved mem:512 idle mem:512 charged mem:512 consumed mem:512\n"
#define LONELY "lonely: reserved disk:100 idle disk:100 charged disk:100 consumed disk:100\n"

Test(master_roles_view, what_is_held_counts_for_all_above)
{
	driver_agent_like(
		d, AGENT1,
		"[" SCALAR("cpus", 4, "") "," SCALAR("mem", 4096, "") "," SCALAR(
			"cpus", 2, OF("a")) "," SCALAR("mem", 512,
						       OF("a/b")) "," SCALAR("disk", 100,
									     OF("lonely")) "]",
		NULL);
	cr_expect_str_eq(described(), A_RESERVED A_B LONELY);
	driver_subscribe(d, NULL,
			 "\"roles\":[\"a\",\"c/d\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"},"
			 "{\"type\":\"RESERVATION_REFINEMENT\"}]");
	cr_expect_str_eq(described(),
			 "a: M-0000 offered cpus:6; mem:4096 reserved cpus:2; mem:512 idle "
			 "cpus:2; mem:512 charged cpus:2; mem:512 consumed cpus:2; mem:512\n" A_B
			 "c:\nc/d: M-0000\n" LONELY);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t", NULL);
	driver_subscribe(d, NULL, "\"role\":\"c\"");
	driver_operate(d, "{\"type\":\"UPDATE_WEIGHTS\",\"update_weights\":{\"weight_infos\":["
			  "{\"role\":\"w/x\",\"weight\":2}]}}");
	driver_operate(d, "{\"type\":\"UPDATE_QUOTA\",\"update_quota\":{\"quota_configs\":["
			  "{\"role\":\"q\",\"limits\":{\"cpus\":{\"value\":9}}}]}}");
	cr_expect_str_eq(described(),
			 "a: M-0000 allocated cpus:1; mem:32 offered cpus:2 reserved cpus:2; "
			 "mem:512 idle cpus:2; mem:512 charged cpus:3; mem:544 consumed cpus:3; "
			 "mem:544\n" A_B "c: M-0001 offered cpus:3; mem:4064\nc/d: M-0000\n" LONELY
			 "q:\nw:\nw/x:\n");
}
