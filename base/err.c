/* Error texts: formatted aside first, so that arguments may quote the text being replaced. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *format, ...)
{
	char text[ERR_TEXT_MAX];
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	if (vsnprintf(text, sizeof(text), format, args) < 0)
		text[0] = '\0';
	va_end(args);
	memcpy(err->text, text, strlen(text) + 1);
	return code;
}

int err_wrap(struct err *err, int code, const char *format, ...)
{
	char prefix[ERR_TEXT_MAX];
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	if (vsnprintf(prefix, sizeof(prefix), format, args) < 0)
		prefix[0] = '\0';
	va_end(args);
	if (err->text[0] == '\0')
		return err_set(err, code, "%s", prefix);
	return err_set(err, code, "%s: %s", prefix, err->text);
}
