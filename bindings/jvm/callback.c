/* See callback.h. */
#include "bindings/jvm/callback.h"

#include <stdio.h>

static jobject program_object(JNIEnv *env, const struct callback_target *target, jobject owner)
{
	char signature[96];

	snprintf(signature, sizeof(signature), "L%s;", target->interface);
	return jvm_field(env, owner, target->field, signature);
}

bool callback_begin(struct callback *c, const struct callback_target *target, const char *method,
		    const char *signature)
{
	jclass class;

	*c = (struct callback){jvm_env(), NULL, NULL, NULL};
	if (!c->env)
		return false;
	if ((*c->env)->PushLocalFrame(c->env, FRAME_REFERENCES) < 0) {
		jvm_failed(c->env);
		c->env = NULL;
		return false;
	}
	c->owner = (*c->env)->NewLocalRef(c->env, target->owner);
	c->object = c->owner ? program_object(c->env, target, c->owner) : NULL;
	class = c->object ? jvm_class(c->env, target->interface) : NULL;
	c->method = class ? (*c->env)->GetMethodID(c->env, class, method, signature) : NULL;
	return c->method != NULL;
}

int callback_finish(struct callback *c)
{
	bool failed;

	if (!c->env)
		return -1;
	failed = jvm_failed(c->env);
	(*c->env)->PopLocalFrame(c->env, NULL);
	return failed ? -1 : 0;
}

int callback_plain(const struct callback_target *target, const char *method, const char *signature)
{
	struct callback c;

	if (callback_begin(&c, target, method, signature))
		CALLBACK(&c);
	return callback_finish(&c);
}

int callback_text(const struct callback_target *target, const char *method, const char *signature,
		  const char *text)
{
	struct callback c;

	if (callback_begin(&c, target, method, signature)) {
		jstring string = jvm_new_string(c.env, text);

		CALLBACK(&c, string);
	}
	return callback_finish(&c);
}

int callback_message(const struct callback_target *target, const char *method,
		     const char *signature, const char *class, struct slice bytes)
{
	struct callback c;

	if (callback_begin(&c, target, method, signature)) {
		jobject message = jvm_new_message(c.env, class, bytes);

		CALLBACK(&c, message);
	}
	return callback_finish(&c);
}

void callback_thread_begins(const struct callback_target *target, const char *name)
{
	JNIEnv *env;
	jobject owner, object;

	if (!jvm_attach(name))
		return;
	env = jvm_env();
	if ((*env)->PushLocalFrame(env, FRAME_REFERENCES) == 0) {
		owner = (*env)->NewLocalRef(env, target->owner);
		object = owner ? program_object(env, target, owner) : NULL;
		if (object)
			jvm_set_context_loader(env, object);
		(*env)->ExceptionClear(env);
		(*env)->PopLocalFrame(env, NULL);
	}
	(*env)->ExceptionClear(env);
}

void callback_thread_ends(void *context)
{
	jvm_detach();
}
