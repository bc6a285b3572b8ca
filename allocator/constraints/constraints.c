/* Offer constraints: a table of roles, each with its groups of compiled constraints.
 *
 * They are evaluated for every agent that the framework might be offered, hence the
 * bound on their number.
 */
#include "allocator/constraints.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/constraints/pattern.h"
#include "base/memory/arena.h"
#include "base/table.h"

#define CONSTRAINTS_MAX 1000
/* Mesos' --offer_constraints_re2_max_mem and --offer_constraints_re2_max_program_size. */
static const struct pattern_limits pattern_limits = {4096, 100};

enum subject { SUBJECT_ATTRIBUTE, SUBJECT_HOSTNAME, SUBJECT_REGION, SUBJECT_ZONE };

enum test { TEST_EXISTS, TEST_EQUALS, TEST_MATCHES };

struct constraint {
	enum subject subject;
	char *name; /* of the attribute */
	enum test test;
	bool negated;
	char *text; /* to be equal to */
	struct pattern *pattern;
};

struct group {
	struct constraint *items;
	size_t count;
};

struct role_constraints {
	char *role;
	struct group *groups;
	size_t count;
	UT_hash_handle hh;
};

struct constraints {
	struct role_constraints *roles;
	size_t count; /* of constraints, all in all */
};

/* ---- reading -------------------------------------------------------------------- */

static int read_selector(const Mesos__Scheduler__AttributeConstraint__Selector *from,
			 struct constraint *out, struct err *err)
{
#define PSEUDO(name) MESOS__SCHEDULER__ATTRIBUTE_CONSTRAINT__SELECTOR__PSEUDOATTRIBUTE_TYPE__##name
	if (from->attribute_name) {
		out->name = xstrdup(from->attribute_name);
		return 0;
	}
	if (!from->has_pseudoattribute_type)
		return err_set(err, ERR_INVALID,
			       "Exactly one of 'AttributeConstraint::Selector::name' or "
			       "'AttributeConstraint::Selector::pseudoattribute_type' must be set");
	switch (from->pseudoattribute_type) {
	case PSEUDO(HOSTNAME):
		out->subject = SUBJECT_HOSTNAME;
		return 0;
	case PSEUDO(REGION):
		out->subject = SUBJECT_REGION;
		return 0;
	case PSEUDO(ZONE):
		out->subject = SUBJECT_ZONE;
		return 0;
	default:
		return err_set(err, ERR_INVALID, "Unknown pseudoattribute type");
	}
#undef PSEUDO
}

static int read_pattern(const char *regex, struct constraint *out, struct err *err)
{
	struct err why = {{0}};

	out->test = TEST_MATCHES;
	if (pattern_create(regex, &pattern_limits, &out->pattern, &why) < 0)
		return err_set(err, ERR_INVALID, "Failed to construct regex from pattern '%s': %s",
			       regex, why.text);
	return 0;
}

static int read_predicate(const Mesos__Scheduler__AttributeConstraint__Predicate *from,
			  struct constraint *out, struct err *err)
{
	out->negated = from->not_exists || from->text_not_equals || from->text_not_matches;
	if (from->exists || from->not_exists) {
		out->test = TEST_EXISTS;
		return 0;
	}
	if (from->text_equals || from->text_not_equals) {
		out->test = TEST_EQUALS;
		out->text = xstrdup(from->text_equals ? from->text_equals->value
						      : from->text_not_equals->value);
		return 0;
	}
	if (from->text_matches || from->text_not_matches)
		return read_pattern(from->text_matches ? from->text_matches->regex
						       : from->text_not_matches->regex,
				    out, err);
	return err_set(err, ERR_INVALID, "Unknown predicate type");
}

static int read_group(struct constraints *c, const char *role,
		      const Mesos__Scheduler__OfferConstraints__RoleConstraints__Group *from,
		      struct group *out, struct err *err)
{
	int rv = 0;

	if (!from->n_attribute_constraints)
		return err_set(err, ERR_INVALID,
			       "'OfferConstraints::RoleConstraints::groups' for role %scontains an "
			       "empty RoleConstraints::Group",
			       role);
	c->count += from->n_attribute_constraints;
	if (c->count > CONSTRAINTS_MAX)
		return err_set(err, ERR_INVALID, "There are more than %d constraints",
			       CONSTRAINTS_MAX);
	out->items = xcalloc(from->n_attribute_constraints, sizeof(*out->items));
	for (size_t i = 0; i < from->n_attribute_constraints && rv == 0; i++) {
		const Mesos__Scheduler__AttributeConstraint *one = from->attribute_constraints[i];
		struct err why = {{0}};

		out->count++;
		rv = read_selector(one->selector, &out->items[i], &why);
		if (rv == 0)
			rv = read_predicate(one->predicate, &out->items[i], &why);
		if (rv < 0)
			err_set(err, rv, "A role %s has an invalid 'AttributeConstraint': %s", role,
				why.text);
	}
	return rv;
}

static int read_role(struct constraints *c,
		     const Mesos__Scheduler__OfferConstraints__RoleConstraintsEntry *entry,
		     struct err *err)
{
	const Mesos__Scheduler__OfferConstraints__RoleConstraints *from = entry->value;
	const char *role = entry->key ? entry->key : "";
	struct role_constraints *out;
	int rv = 0;

	if (!from || !from->n_groups)
		return err_set(err, ERR_INVALID,
			       "'OfferConstraints::role_constraints' has an empty "
			       "'RoleConstraints::groups' for role %s",
			       role);
	HASH_FIND_STR(c->roles, role, out);
	if (out)
		return err_set(err, ERR_INVALID, "Role %s has constraints twice", role);
	out = xcalloc(1, sizeof(*out));
	out->role = xstrdup(role);
	out->groups = xcalloc(from->n_groups, sizeof(*out->groups));
	HASH_ADD_KEYPTR(hh, c->roles, out->role, strlen(out->role), out);
	for (size_t i = 0; i < from->n_groups && rv == 0; i++)
		rv = read_group(c, role, from->groups[i], &out->groups[out->count++], err);
	return rv;
}

int constraints_create(const Mesos__Scheduler__OfferConstraints *from, struct constraints **out,
		       struct err *err)
{
	struct constraints *c;
	int rv = 0;

	*out = NULL;
	if (!from || !from->n_role_constraints)
		return 0;
	c = xcalloc(1, sizeof(*c));
	for (size_t i = 0; i < from->n_role_constraints && rv == 0; i++)
		rv = read_role(c, from->role_constraints[i], err);
	if (rv < 0) {
		constraints_destroy(c);
		return rv;
	}
	*out = c;
	return 0;
}

static void group_free(struct group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		free(group->items[i].name);
		free(group->items[i].text);
		pattern_destroy(group->items[i].pattern);
	}
	free(group->items);
}

void constraints_destroy(struct constraints *c)
{
	struct role_constraints *role, *next;

	if (!c)
		return;
	HASH_ITER (hh, c->roles, role, next) {
		HASH_DEL(c->roles, role);
		for (size_t i = 0; i < role->count; i++)
			group_free(&role->groups[i]);
		free(role->groups);
		free(role->role);
		free(role);
	}
	free(c);
}

/* ---- asking ---------------------------------------------------------------------- */

/* What a constraint is about, on an agent. */
struct found {
	bool exists;
	const char *text; /* NULL: an attribute of another type */
};

static struct found find_attribute(const Mesos__AgentInfo *agent, const char *name)
{
	for (size_t i = 0; i < agent->n_attributes; i++) {
		const Mesos__Attribute *attribute = agent->attributes[i];
		bool text = attribute->type == MESOS__VALUE__TYPE__TEXT;

		if (strcmp(attribute->name, name) == 0)
			return (struct found){
				true,
				!text		  ? NULL
				: attribute->text ? attribute->text->value
						  : "",
			};
	}
	return (struct found){0};
}

static struct found find_subject(const struct constraint *constraint, const Mesos__AgentInfo *agent)
{
	const Mesos__DomainInfo__FaultDomain *domain =
		agent->domain ? agent->domain->fault_domain : NULL;

	switch (constraint->subject) {
	case SUBJECT_ATTRIBUTE:
		return find_attribute(agent, constraint->name);
	case SUBJECT_HOSTNAME:
		return (struct found){true, agent->hostname};
	case SUBJECT_REGION:
		return (struct found){domain != NULL, domain ? domain->region->name : NULL};
	default:
		return (struct found){domain != NULL, domain ? domain->zone->name : NULL};
	}
}

static bool constraint_met(const struct constraint *constraint, const Mesos__AgentInfo *agent)
{
	struct found found = find_subject(constraint, agent);

	if (!found.exists || constraint->test == TEST_EXISTS)
		return found.exists != constraint->negated;
	if (!found.text)
		return true;
	if (constraint->test == TEST_EQUALS)
		return (strcmp(found.text, constraint->text) == 0) != constraint->negated;
	return pattern_matches(constraint->pattern, found.text) != constraint->negated;
}

bool constraints_exclude(const struct constraints *c, const char *role,
			 const Mesos__AgentInfo *agent)
{
	struct role_constraints *found = NULL;

	if (c)
		HASH_FIND_STR(c->roles, role, found);
	if (!found)
		return false;
	for (size_t i = 0; i < found->count; i++) {
		const struct group *group = &found->groups[i];
		size_t met = 0;

		while (met < group->count && constraint_met(&group->items[met], agent))
			met++;
		if (met == group->count)
			return false;
	}
	return true;
}
