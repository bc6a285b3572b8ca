/* Roles: what each has, its quota and weight as they are stored, and whose turn it was. */
#include "lab/books/books_roles.h"

#include <stdlib.h>
#include <string.h>

#include "lab/books/books_agents.h"
#include "lab/books/books_registry.h"
#include "lab/books/books_tally.h"
#include "lab/books/records.h"
#include "lab/parts/parts.h"

/* Of the dominant share: what is rounded. */
#define SHARE_MARGIN 0.01
/* Subscribed for so long, a framework takes part in every cycle. */
#define SETTLED (3 * SECOND)

/* ---- records ---------------------------------------------------------------------- */

struct role *books_role(struct books *b, const char *name)
{
	const char *slash = strchr(name, '/');
	struct role *role;
	char *top;

	HASH_FIND_STR(b->roles, name, role);
	if (role)
		return role;
	role = xcalloc(1, sizeof(*role));
	role->name = xstrdup(name);
	role->weight = 1;
	role->top = role;
	list_init(&role->seats);
	HASH_ADD_KEYPTR(hh, b->roles, role->name, strlen(role->name), role);
	if (slash) {
		top = xstrndup(name, (size_t)(slash - name));
		role->top = books_role(b, top);
		free(top);
	}
	return role;
}

struct seat *books_seat(struct books *b, struct fw *fw, const char *role)
{
	struct seat *seat, *next;

	list_for_each (seat, next, &fw->seats, by_fw) {
		if (!strcmp(seat->role->name, role))
			return seat;
	}
	seat = xcalloc(1, sizeof(*seat));
	seat->fw = fw;
	seat->role = books_role(b, role);
	list_init(&seat->grant_link);
	list_append(&fw->seats, &seat->by_fw);
	list_append(&seat->role->seats, &seat->by_role);
	return seat;
}

struct seat *books_seat_of(struct books *b, struct fw *fw, Mesos__Resource *const *list,
			   size_t count)
{
	const Mesos__Resource__AllocationInfo *info = count ? list[0]->allocation_info : NULL;

	if (info && info->role)
		return books_seat(b, fw, info->role);
	return list_empty(&fw->seats) ? books_seat(b, fw, "*")
				      : list_first(&fw->seats, struct seat, by_fw);
}

void books_seat_roles(struct books *b, struct fw *fw, const Mesos__FrameworkInfo *info)
{
	struct seat *seat, *next;

	list_for_each (seat, next, &fw->seats, by_fw)
		seat->subscribed = false;
	for (size_t i = 0; i < info->n_roles; i++)
		books_seat(b, fw, info->roles[i])->subscribed = true;
	fw->plain = !info->n_roles;
	if (fw->plain)
		books_seat(b, fw, info->role ? info->role : "*")->subscribed = true;
}

void books_take(struct seat *seat, const struct tally *amounts)
{
	tally_put_all(&seat->taken, amounts);
	tally_put_all(&seat->role->top->taken, amounts);
}

void books_give_back(struct seat *seat, const struct tally *amounts)
{
	tally_take_all(&seat->taken, amounts);
	tally_take_all(&seat->role->top->taken, amounts);
}

static void note_released(const struct books *b, struct released *r, const struct tally *amounts)
{
	if (r->step != b->steps)
		tally_clear(&r->amounts);
	r->step = b->steps;
	tally_put_all(&r->amounts, amounts);
}

void books_note_released(const struct books *b, struct seat *seat, const struct tally *amounts)
{
	note_released(b, &seat->released, amounts);
	note_released(b, &seat->role->top->released, amounts);
}

void books_grant(struct books *b, struct seat *seat, const struct tally *amounts)
{
	books_take(seat, amounts);
	tally_put_all(&seat->granted, amounts);
	if (list_empty(&seat->grant_link))
		list_append(&b->granted, &seat->grant_link);
}

void books_free_seats(struct fw *fw)
{
	struct seat *seat;

	while ((seat = list_first(&fw->seats, struct seat, by_fw))) {
		list_remove(&seat->by_fw);
		list_remove(&seat->by_role);
		list_remove(&seat->grant_link);
		tally_free(&seat->taken);
		tally_free(&seat->granted);
		tally_free(&seat->released.amounts);
		free(seat);
	}
}

void books_free_roles(struct books *b)
{
	struct role *role, *next;

	HASH_ITER (hh, b->roles, role, next) {
		HASH_DEL(b->roles, role);
		tally_free(&role->taken);
		tally_free(&role->released.amounts);
		tally_free(&role->guarantees);
		tally_free(&role->limits);
		free(role->name);
		free(role);
	}
}

/* ---- quota and weights ------------------------------------------------------------ */

static void put_amount(struct books *b, struct tally *a, const char *name, double value)
{
	tally_put(a, books_kind(b, name), (int64_t)(value * 1000 + 0.5));
}

static void clear_quota(struct books *b, struct role *role)
{
	if (!tally_empty(&role->guarantees))
		b->guarantees--;
	tally_clear(&role->guarantees);
	tally_clear(&role->limits);
}

void books_quota_written(struct books *b, const char *name, struct slice value)
{
	struct role *role = books_role(b, name);
	const Mesos__Quota__QuotaConfig *config;
	struct err err;

	clear_quota(b, role);
	if (!value.data)
		return;
	arena_free(&b->arena);
	config = proto_unpack(&mesos__quota__quota_config__descriptor, &b->arena, value.data,
			      value.len, &err);
	for (size_t i = 0; config && i < config->n_guarantees; i++)
		put_amount(b, &role->guarantees, config->guarantees[i]->key,
			   config->guarantees[i]->value->value);
	for (size_t i = 0; config && i < config->n_limits; i++)
		put_amount(b, &role->limits, config->limits[i]->key,
			   config->limits[i]->value->value);
	if (!tally_empty(&role->guarantees))
		b->guarantees++;
}

void books_weight_written(struct books *b, const char *name, struct slice value)
{
	struct role *role = books_role(b, name);
	const Mesos__WeightInfo *info;
	struct err err;

	role->weight = 1;
	if (!value.data)
		return;
	arena_free(&b->arena);
	info = proto_unpack(&mesos__weight_info__descriptor, &b->arena, value.data, value.len,
			    &err);
	if (info)
		role->weight = info->weight;
}

void books_forget_orders(struct books *b)
{
	struct role *role, *next;

	HASH_ITER (hh, b->roles, role, next) {
		clear_quota(b, role);
		role->weight = 1;
	}
}

/* ---- what quota allows ------------------------------------------------------------ */

/* Of the name, what is not reserved. */
static int64_t plain(const struct books *b, const struct tally *a, uint32_t name)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		const struct kind *kind = b->kinds[a->items[i].kind];

		if (kind->name == name && !kind->reserved)
			sum += a->items[i].milli;
	}
	return sum;
}

static bool is_below(const char *role, const char *top)
{
	size_t len = strlen(top);

	return !strncmp(role, top, len) && (!role[len] || role[len] == '/');
}

/* Of the name, what is reserved for the role and those below it. */
static int64_t reservations(const struct books *b, const struct role *top, uint32_t name)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < b->cluster.count; i++) {
		const struct kind *kind = b->kinds[b->cluster.items[i].kind];

		if (kind->name == name && kind->reserved && is_below(kind->reserved, top->name))
			sum += b->cluster.items[i].milli;
	}
	return sum;
}

/* What the role is charged for. */
static int64_t consumed(const struct books *b, const struct role *top, uint32_t name)
{
	return reservations(b, top, name) + plain(b, &top->taken, name);
}

/* Just now. */
static int64_t granted_to(const struct books *b, const struct role *role, bool with_below,
			  uint32_t name)
{
	struct seat *seat, *next;
	int64_t sum = 0;

	list_for_each (seat, next, &b->granted, grant_link) {
		if ((with_below ? seat->role->top : seat->role) == role)
			sum += plain(b, &seat->granted, name);
	}
	return sum;
}

/* Those below are charged to it, and not limited. */
static void check_limits(struct books *b, const struct role *top)
{
	for (uint32_t i = 0; i < top->limits.count; i++) {
		uint32_t name = top->limits.items[i].kind;
		int64_t most = top->limits.items[i].milli, has = consumed(b, top, name);
		int64_t got = granted_to(b, top, false, name);

		has -= granted_to(b, top, true, name) - got;
		if (has > most && got > 0)
			world_fail(b->world,
				   "quota: role %s may have %g of %s and is offered more, with "
				   "which it has %g",
				   top->name, (double)most / 1000, kind_key(b, name),
				   (double)has / 1000);
	}
}

/* Of what nobody is known to have, tasks may hold that the master remembers, and agents that
 * are back do not; and whatever agents have that are not back yet. */
static void doubtful(const struct books *b, struct tally *sum)
{
	struct known_agent *k, *next_known;
	struct view *v, *next;

	HASH_ITER (hh, b->known, k, next_known) {
		if (k->admitted && !books_view(b, k->id))
			tally_put_all(sum, &k->total);
	}
	HASH_ITER (hh, b->views, v, next) {
		if (!books_unsure(b, v))
			continue;
		tally_put_all(sum, &v->total);
		tally_take_all(sum, &v->used);
		tally_take_all(sum, &v->offered);
	}
}

/* Of the name; roles that have a guarantee may be charged for it. */
static int64_t doubtful_amount(const struct books *b, uint32_t name)
{
	struct tally sum = {0};
	int64_t amount;

	doubtful(b, &sum);
	amount = plain(b, &sum, name);
	tally_free(&sum);
	return amount;
}

/* What roles lack of their guarantees must be left when somebody is offered more than his. */
static void check_guarantees(struct books *b, uint32_t name)
{
	int64_t left = plain(b, &b->cluster, name), lack = 0, beyond = 0;
	struct role *role, *next;

	HASH_ITER (hh, b->roles, role, next) {
		int64_t most = tally_of(&role->guarantees, name);
		int64_t has = consumed(b, role, name), got = granted_to(b, role, true, name);

		if (role->top != role)
			continue;
		left -= plain(b, &role->taken, name);
		if (most > has)
			lack += most - has;
		else
			beyond += got < has - most ? got : has - most;
	}
	if (beyond > 0 && left < lack && left < lack - doubtful_amount(b, name))
		world_fail(b->world,
			   "quota: %g of %s are offered beyond guarantees, %g are left and roles "
			   "lack %g of theirs",
			   (double)beyond / 1000, kind_key(b, name), (double)left / 1000,
			   (double)lack / 1000);
}

static void check_quota(struct books *b)
{
	struct role *role, *next;

	HASH_ITER (hh, b->roles, role, next) {
		check_limits(b, role);
		for (uint32_t i = 0; i < role->guarantees.count; i++)
			check_guarantees(b, role->guarantees.items[i].kind);
	}
}

int64_t books_limit_left(const struct books *b, const struct seat *seat, uint32_t name)
{
	const struct role *role = seat->role;

	for (uint32_t i = 0; i < role->limits.count; i++) {
		if (role->limits.items[i].kind == name)
			return role->limits.items[i].milli - consumed(b, role, name);
	}
	return INT64_MAX;
}

/* ---- shares ----------------------------------------------------------------------- */

/* Of all there is, of the scalar it has most of. */
static double dominant_share(const struct books *b, const struct tally *a)
{
	struct tally names = {0};
	double share = 0;

	for (uint32_t i = 0; i < a->count; i++)
		tally_put(&names, b->kinds[a->items[i].kind]->name, a->items[i].milli);
	for (uint32_t i = 0; i < names.count; i++) {
		uint32_t name = names.items[i].kind;
		int64_t all = 0;

		if (!b->kinds[name]->scalar)
			continue;
		for (uint32_t k = 0; k < b->cluster.count; k++) {
			if (b->kinds[b->cluster.items[k].kind]->name == name)
				all += b->cluster.items[k].milli;
		}
		if (all > 0 && (double)names.items[i].milli / (double)all > share)
			share = (double)names.items[i].milli / (double)all;
	}
	tally_free(&names);
	return share;
}

/* What it got in this step is not counted: others have it more only if they had it before. */
static double share_before(const struct books *b, const struct tally *taken, const struct role *top,
			   const struct seat *only)
{
	struct tally before = {0};
	struct seat *seat, *next;
	double share;

	tally_put_all(&before, taken);
	list_for_each (seat, next, &b->granted, grant_link) {
		if (only ? seat == only : seat->role->top == top)
			tally_take_all(&before, &seat->granted);
	}
	share = dominant_share(b, &before);
	tally_free(&before);
	return share;
}

/* Of somebody who got nothing, with what he lost in this step. */
static double share_at_most(const struct books *b, const struct tally *taken,
			    const struct released *released)
{
	struct tally most = {0};
	double share;

	tally_put_all(&most, taken);
	if (released->step == b->steps)
		tally_put_all(&most, &released->amounts);
	share = dominant_share(b, &most);
	tally_free(&most);
	return share;
}

/* A filter lasts for one batch at least, and a master that is stopped makes none. */
static bool books_roles_refuses(const struct books *b, const struct fw *fw)
{
	const struct process *master = b->master;
	int64_t until = fw->filters_until;

	if (until && master && master->paused_until > until)
		until = master->paused_until;
	return until + FILTERS_LINGER > b->world->now;
}

/* It could have had what others got. */
static bool was_in_line(const struct books *b, const struct seat *seat)
{
	const struct fw *fw = seat->fw;

	return seat->subscribed && fw->stream && !fw->torn && !fw->suppressed && !fw->inactive &&
	       list_empty(&seat->grant_link) && b->world->now - fw->subscribed > SETTLED &&
	       !books_roles_refuses(b, fw);
}

static double doubtful_share(const struct books *b)
{
	struct tally sum = {0};
	double share;

	doubtful(b, &sum);
	share = dominant_share(b, &sum);
	tally_free(&sum);
	return share;
}

/* What limits it may be tasks that are not known here. */
bool books_is_bounded(const struct books *b, const struct seat *seat)
{
	return b->guarantees || (!tally_empty(&seat->role->limits) && doubtful_share(b) > 0);
}

static void check_frameworks(struct books *b, const struct seat *seat, double margin)
{
	double share = share_before(b, &seat->taken, NULL, seat);
	struct seat *other, *next;

	if (share <= margin)
		return;
	list_for_each (other, next, &seat->role->seats, by_role) {
		if (!was_in_line(b, other) ||
		    share_at_most(b, &other->taken, &other->released) + margin >= share)
			continue;
		world_fail(b->world,
			   "shares: framework %s of role %s has %.3f of the cluster and is offered "
			   "more, while %s has %.3f and waits",
			   seat->fw->id, seat->role->name, share, other->fw->id,
			   dominant_share(b, &other->taken));
	}
}

/* As Mesos does by default, for less nobody is offered anything. */
#define LEAST_MILLI 100

static bool is_worth_an_offer(struct books *b, const struct view *v)
{
	uint32_t names[] = {books_kind(b, "cpus"), books_kind(b, "mem")};

	for (int i = 0; i < 2; i++) {
		if (tally_of(&v->total, names[i]) - tally_of(&v->used, names[i]) -
			    tally_of(&v->offered, names[i]) <
		    (i ? 32000 : LEAST_MILLI))
			return false;
	}
	return true;
}

/* With all that the agent has left given away, enough is left for what roles lack. */
static bool is_beyond_guarantees(const struct books *b, const struct view *v, uint32_t name)
{
	int64_t rest =
		plain(b, &v->total, name) - plain(b, &v->used, name) - plain(b, &v->offered, name);
	int64_t left = plain(b, &b->cluster, name), lack = 0;
	struct role *role, *next;

	HASH_ITER (hh, b->roles, role, next) {
		int64_t most = tally_of(&role->guarantees, name), has = consumed(b, role, name);

		if (role->top != role)
			continue;
		left -= plain(b, &role->taken, name);
		lack += most > has ? most - has : 0;
	}
	return left - lack >= rest;
}

/* For less than that of a limited role nobody waits. */
#define LIMIT_LEFT_CPUS 500
#define LIMIT_LEFT_MEM 64000

static bool may_have_more(struct books *b, const struct role *role)
{
	uint32_t cpus = books_kind(b, "cpus"), mem = books_kind(b, "mem");

	for (uint32_t i = 0; i < role->limits.count; i++) {
		uint32_t name = role->limits.items[i].kind;
		int64_t left = role->limits.items[i].milli - consumed(b, role, name);

		if (left < (name == cpus ? LIMIT_LEFT_CPUS : name == mem ? LIMIT_LEFT_MEM : 0))
			return false;
	}
	return true;
}

/* Guarantees of others do not forbid to give it to anybody. */
static bool is_free_for_all(const struct books *b, const struct view *v)
{
	struct role *role, *next;

	HASH_ITER (hh, b->roles, role, next) {
		for (uint32_t i = 0; i < role->guarantees.count; i++) {
			if (!is_beyond_guarantees(b, v, role->guarantees.items[i].kind))
				return false;
		}
	}
	return true;
}

bool books_is_wanted(struct books *b, const struct view *v)
{
	struct role *role, *next_role;
	struct seat *seat, *next;

	if (!is_worth_an_offer(b, v) ||
	    (b->guarantees && (doubtful_share(b) > 0 || !is_free_for_all(b, v))))
		return false;
	HASH_ITER (hh, b->roles, role, next_role) {
		if (!tally_empty(&role->limits) &&
		    (doubtful_share(b) > 0 || !may_have_more(b, role)))
			continue;
		list_for_each (seat, next, &role->seats, by_role) {
			if (was_in_line(b, seat))
				return true;
		}
	}
	return false;
}

static bool has_one_in_line(const struct books *b, const struct role *top)
{
	struct role *role, *next_role;
	struct seat *seat, *next;

	HASH_ITER (hh, b->roles, role, next_role) {
		if (role->top != top)
			continue;
		list_for_each (seat, next, &role->seats, by_role) {
			if (was_in_line(b, seat))
				return true;
		}
	}
	return false;
}

static bool got_plain(const struct books *b, const struct seat *seat)
{
	for (uint32_t i = 0; i < seat->granted.count; i++) {
		if (!b->kinds[seat->granted.items[i].kind]->reserved)
			return true;
	}
	return false;
}

static bool granted_in(const struct books *b, const struct role *top)
{
	struct seat *seat, *next;

	list_for_each (seat, next, &b->granted, grant_link) {
		if (seat->role->top == top)
			return true;
	}
	return false;
}

static void books_roles_check_roles(struct books *b, const struct seat *seat, double margin)
{
	const struct role *top = seat->role->top;
	struct role *other, *next;
	double share, theirs;

	if (b->guarantees || !got_plain(b, seat))
		return;
	share = share_before(b, &top->taken, top, NULL) / top->weight;
	if (share * top->weight <= margin)
		return;
	HASH_ITER (hh, b->roles, other, next) {
		if (other->top != other || other == top || granted_in(b, other))
			continue;
		/* What limits it may be tasks that are not known here. */
		if (!tally_empty(&other->limits) &&
		    (margin > SHARE_MARGIN || !may_have_more(b, other)))
			continue;
		theirs = share_at_most(b, &other->taken, &other->released);
		if ((theirs + margin) / other->weight >= share || !has_one_in_line(b, other))
			continue;
		world_fail(b->world,
			   "shares: role %s of weight %g has %.3f of the cluster and is offered "
			   "more, while %s of weight %g has %.3f and waits",
			   top->name, top->weight, share * top->weight, other->name, other->weight,
			   theirs);
	}
}

/* A master that was stopped has removed it when it goes on; the books still count it, and what its
 * tasks had, until the rest of what came meanwhile is done. */
static bool is_any_leaving(const struct books *b)
{
	for (const struct view *v = b->views; v; v = v->hh.next)
		if (v->leaving)
			return true;
	return false;
}

void books_check_shares(struct books *b)
{
	double margin = list_empty(&b->granted) ? SHARE_MARGIN : SHARE_MARGIN + doubtful_share(b);
	struct seat *seat, *next;

	list_for_each (seat, next, &b->granted, grant_link) {
		if (is_any_leaving(b))
			break;
		check_frameworks(b, seat, margin);
		books_roles_check_roles(b, seat, margin);
	}
	if (!books_master_paused(b))
		check_quota(b);
	while ((seat = list_first(&b->granted, struct seat, grant_link))) {
		list_remove(&seat->grant_link);
		tally_clear(&seat->granted);
	}
}
