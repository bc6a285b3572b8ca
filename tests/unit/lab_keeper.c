/* The simulated ZooKeeper does what the real one does, where the masters rely on it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "lab/keeper/keeper.h"
#include "lab/keeper/keeper_tree.h"

static struct keeper_tree tree;
static int64_t now;

static void set_up(void)
{
	tree_init(&tree);
	now = SECOND;
}

static void tear_down(void)
{
	tree_free(&tree);
}

TestSuite(keeper_tree, .init = set_up, .fini = tear_down);

static struct keeper_op create(const char *path, const char *data, int flags)
{
	return (struct keeper_op){
		.kind = KEEPER_CREATE, .path = path, .data = {data, strlen(data)}, .flags = flags};
}

static struct keeper_op set(const char *path, const char *data, int version)
{
	return (struct keeper_op){
		.kind = KEEPER_SET, .path = path, .data = {data, strlen(data)}, .version = version};
}

static struct keeper_op removal(const char *path)
{
	return (struct keeper_op){.kind = KEEPER_DELETE, .path = path, .version = -1};
}

/* By session 7. */
static int change(const struct keeper_op *ops, size_t count)
{
	char *name;
	int version, code = tree_change(&tree, now, 7, ops, count, &name, &version);

	free(name);
	return code;
}

static int change_one(struct keeper_op op)
{
	return change(&op, 1);
}

static void expect_data_at(uint64_t zxid, const char *path, const char *expected, int version)
{
	struct slice data;
	int found;

	cr_assert_eq(tree_get(&tree, zxid, path, &data, &found), ZOK, "%s", path);
	cr_expect_eq(data.len, strlen(expected));
	cr_expect_eq(memcmp(data.data, expected, data.len), 0);
	cr_expect_eq(found, version);
	free((char *)data.data);
}

static size_t count_children_at(uint64_t zxid, const char *path)
{
	char **names;
	size_t count = 0;

	cr_assert_eq(tree_children(&tree, zxid, path, &names, &count), ZOK);
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
	return count;
}

Test(keeper_tree, nodes_have_parents_and_versions)
{
	struct slice data;
	int version;

	cr_expect_eq(change_one(create("/a/b", "x", 0)), ZNONODE);
	cr_expect_eq(change_one(create("/a", "x", 0)), ZOK);
	cr_expect_eq(change_one(create("/a", "y", 0)), ZNODEEXISTS);
	cr_expect_eq(change_one(create("/a/b", "", 0)), ZOK);
	expect_data_at(tree.zxid, "/a", "x", 0);
	cr_expect_eq(change_one(set("/a", "y", 1)), ZBADVERSION);
	cr_expect_eq(change_one(set("/a", "y", 0)), ZOK);
	cr_expect_eq(change_one(set("/a", "z", -1)), ZOK);
	expect_data_at(tree.zxid, "/a", "z", 2);
	cr_expect_eq(change_one(removal("/a")), ZNOTEMPTY);
	cr_expect_eq(change_one(removal("/a/b")), ZOK);
	cr_expect_eq(change_one(removal("/a")), ZOK);
	cr_expect_eq(change_one(removal("/a")), ZNONODE);
	cr_expect_eq(tree_get(&tree, tree.zxid, "/a", &data, &version), ZNONODE);
}

Test(keeper_tree, several_changes_are_all_or_none)
{
	const struct keeper_op good[] = {set("/a", "1", 0), create("/a/b", "", 0)};
	const struct keeper_op bad[] = {set("/a", "2", -1), create("/a/b", "", 0)};
	char *name;
	int version;

	change_one(create("/a", "0", 0));
	cr_expect_eq(tree_change(&tree, now, 7, good, 2, &name, &version), ZOK);
	cr_expect_str_eq(name, "/a/b");
	cr_expect_eq(version, 1, "that of what was set");
	free(name);
	cr_expect_eq(change(bad, 2), ZNODEEXISTS);
	expect_data_at(tree.zxid, "/a", "1", 1);
}

Test(keeper_tree, numbers_go_on_and_sessions_take_their_nodes_along)
{
	struct keeper_op member = create("/g/m_", "", ZOO_EPHEMERAL | ZOO_SEQUENCE);
	char *name;
	int version;

	change_one(create("/g", "", 0));
	change_one(create("/g/stays", "", 0));
	for (uint64_t session = 1; session <= 2; session++) {
		cr_expect_eq(tree_change(&tree, now, session, &member, 1, &name, &version), ZOK);
		cr_expect_str_eq(name, session == 1 ? "/g/m_0000000001" : "/g/m_0000000002");
		free(name);
	}
	tree_end_session(&tree, now, 2);
	cr_expect_eq(count_children_at(tree.zxid, "/g"), 2);
	cr_expect_eq(tree_change(&tree, now, 3, &member, 1, &name, &version), ZOK);
	cr_expect_str_eq(name, "/g/m_0000000003", "no number comes twice");
	free(name);
}

/* What a server shows that is behind. */
Test(keeper_tree, what_was_is_known_for_a_while)
{
	uint64_t first;

	change_one(create("/a", "0", 0));
	change_one(create("/a/b", "", 0));
	first = tree.zxid;
	now += SECOND;
	change_one(set("/a", "1", -1));
	change_one(removal("/a/b"));
	change_one(create("/a/c", "", 0));
	change_one(create("/a/d", "", 0));
	expect_data_at(first, "/a", "0", 0);
	expect_data_at(tree.zxid, "/a", "1", 1);
	cr_expect_eq(count_children_at(first, "/a"), 1);
	cr_expect_eq(count_children_at(tree.zxid, "/a"), 2);
	cr_expect(tree_children_differ(&tree, first, "/a"));
	cr_expect_not(tree_children_differ(&tree, tree.zxid, "/a"));
	cr_expect_eq(tree_zxid_at(&tree, now - 1), first);
	cr_expect_eq(tree_zxid_at(&tree, now), tree.zxid);
	/* And then no more. */
	now += MINUTE;
	change_one(set("/a", "2", -1));
	expect_data_at(first, "/a", "1", 1);
}

/* ---- sessions ---------------------------------------------------------------------------------
 */

static struct world world;
static struct process process;
static struct keeper *keeper;
static int connected, fresh, lost, expired, changed, answered, last_code;

static void on_connected(void *context, bool is_fresh)
{
	connected++;
	fresh += is_fresh;
}

static void on_lost(void *context)
{
	lost++;
}

static void on_expired(void *context)
{
	expired++;
}

static void on_changed(void *context)
{
	changed++;
}

static void on_answered(void *context, const struct keeper_answer *answer)
{
	answered++;
	last_code = answer->code;
}

static const struct keeper_handlers handlers = {
	.connected = on_connected,
	.lost = on_lost,
	.expired = on_expired,
	.changed = on_changed,
};
static const struct process_ops nothing;

static void open_world(void)
{
	world_init(&world, 1);
	keeper = keeper_create(&world);
	process_start(&process, &world, &nothing, "p", "10.0.0.1:1");
}

static void close_world(void)
{
	process_end(&process);
	keeper_destroy(keeper);
	world_check_empty(&world);
	cr_expect_null(world.failure, "%s", world.failure);
	world_free(&world);
}

TestSuite(keeper, .init = open_world, .fini = close_world);

static void pass(int64_t span)
{
	int64_t end = world.now + span;

	while (world_step(&world, end))
		;
	world.now = end;
}

static void ask(struct keeper_session *session, struct keeper_op op)
{
	int before = answered;

	keeper_ask(session, &op, 1, NULL, on_answered, NULL);
	pass(SECOND);
	cr_assert_eq(answered, before + 1);
}

Test(keeper, a_session_outlives_its_connections)
{
	struct keeper_session *s = keeper_open(keeper, &process, 6000, &handlers, NULL);

	pass(SECOND);
	cr_assert_eq(connected, 1);
	ask(s, create("/a", "", ZOO_EPHEMERAL));
	cr_expect_eq(last_code, ZOK);
	keeper_cut(keeper, 0);
	cr_expect_eq(lost, 1);
	pass(3 * SECOND);
	cr_expect_eq(connected, 2);
	cr_expect_eq(fresh, 1);
	ask(s, create("/a", "", 0));
	cr_expect_eq(last_code, ZNODEEXISTS);
	pass(MINUTE);
	cr_expect_eq(connected, 2, "pings keep it");
	keeper_close(s, true);
	cr_expect_null(keeper_peek(keeper, "/a"));
}

Test(keeper, who_is_out_of_reach_for_long_is_told_that_it_is_over)
{
	struct keeper_session *s = keeper_open(keeper, &process, 6000, &handlers, NULL);

	pass(SECOND);
	ask(s, create("/a", "", ZOO_EPHEMERAL));
	keeper_cut_off(keeper, 0, 20 * SECOND);
	pass(19 * SECOND);
	cr_expect_eq(lost, 1);
	cr_expect_eq(expired, 0, "nobody can tell it");
	cr_expect_null(keeper_peek(keeper, "/a"));
	pass(4 * SECOND);
	cr_expect_eq(expired, 1);
	keeper_close(s, true);
}

Test(keeper, who_is_killed_leaves_its_nodes_for_the_time_of_its_session)
{
	struct keeper_session *s = keeper_open(keeper, &process, 6000, &handlers, NULL);
	char *there;

	pass(SECOND);
	ask(s, create("/a", "", ZOO_EPHEMERAL));
	keeper_close(s, false);
	pass(3 * SECOND);
	there = keeper_peek(keeper, "/a");
	cr_expect_not_null(there);
	free(there);
	pass(4 * SECOND);
	cr_expect_null(keeper_peek(keeper, "/a"));
}

Test(keeper, servers_that_were_down_give_everybody_the_whole_time)
{
	struct keeper_session *s = keeper_open(keeper, &process, 6000, &handlers, NULL);

	pass(SECOND);
	keeper_stop(keeper, MINUTE);
	pass(MINUTE);
	pass(4 * SECOND);
	cr_expect_eq(expired, 0);
	cr_expect_eq(connected, 2);
	keeper_close(s, true);
}

Test(keeper, watchers_are_told_once)
{
	struct keeper_session *s = keeper_open(keeper, &process, 6000, &handlers, NULL);

	pass(SECOND);
	ask(s, create("/g", "", 0));
	ask(s, (struct keeper_op){.kind = KEEPER_CHILDREN, .path = "/g", .watch = true});
	cr_expect_eq(changed, 0);
	ask(s, create("/g/a", "", 0));
	ask(s, create("/g/b", "", 0));
	cr_expect_eq(changed, 1);
	keeper_close(s, true);
}
