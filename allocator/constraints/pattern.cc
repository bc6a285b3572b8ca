// RE2 for the allocator, which is C; see pattern.h.
#include <re2/re2.h>

#include <new>

extern "C" {
#include "allocator/constraints/pattern.h"
}

struct pattern {
	re2::RE2 expression;

	pattern(const char *text, const re2::RE2::Options &options) : expression(text, options) {}
};

extern "C" int pattern_create(const char *text, const struct pattern_limits *limits,
			      struct pattern **out, struct err *err)
{
	re2::RE2::Options options;

	options.set_max_mem(limits->memory);
	options.set_log_errors(false);
	struct pattern *made = new pattern(text, options);
	if (!made->expression.ok())
		err_set(err, ERR_INVALID, "%s", made->expression.error().c_str());
	else if (made->expression.ProgramSize() > limits->instructions)
		err_set(err, ERR_INVALID, "the program has %d instructions, and may have %d",
			made->expression.ProgramSize(), limits->instructions);
	else {
		*out = made;
		return 0;
	}
	delete made;
	return ERR_INVALID;
}

extern "C" void pattern_destroy(struct pattern *pattern)
{
	delete pattern;
}

extern "C" bool pattern_matches(const struct pattern *pattern, const char *text)
{
	return re2::RE2::FullMatch(text, pattern->expression);
}
