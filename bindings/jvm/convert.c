/* Messages, texts and collections across the border; see jvm.h. */
#include <stdlib.h>

#include "base/memory/arena.h"
#include "bindings/jvm/jvm.h"
#include "proto/wire/wire_write.h"

/* ---- fields ----------------------------------------------------------------- */

void *jvm_pointer(JNIEnv *env, jobject object, const char *field)
{
	jclass class = (*env)->GetObjectClass(env, object);
	jfieldID id = (*env)->GetFieldID(env, class, field, "J");

	(*env)->DeleteLocalRef(env, class);
	return id ? (void *)(intptr_t)(*env)->GetLongField(env, object, id) : NULL;
}

void jvm_set_pointer(JNIEnv *env, jobject object, const char *field, void *pointer)
{
	jclass class = (*env)->GetObjectClass(env, object);
	jfieldID id = (*env)->GetFieldID(env, class, field, "J");

	(*env)->DeleteLocalRef(env, class);
	if (id)
		(*env)->SetLongField(env, object, id, (jlong)(intptr_t)pointer);
}

jobject jvm_field(JNIEnv *env, jobject object, const char *name, const char *signature)
{
	jclass class = (*env)->GetObjectClass(env, object);
	jfieldID id = (*env)->GetFieldID(env, class, name, signature);

	(*env)->DeleteLocalRef(env, class);
	if (id)
		return (*env)->GetObjectField(env, object, id);
	(*env)->ExceptionClear(env); /* NoSuchFieldError */
	return NULL;
}

/* ---- from Java ---------------------------------------------------------------- */

bool jvm_bytes(JNIEnv *env, jbyteArray array, const char *what, struct buf *out)
{
	jsize len;

	if (!array) {
		jvm_throw_null(env, what);
		return false;
	}
	len = (*env)->GetArrayLength(env, array);
	buf_reserve(out, (size_t)len);
	(*env)->GetByteArrayRegion(env, array, 0, len, (jbyte *)out->data + out->len);
	out->len += (size_t)len;
	out->data[out->len] = '\0';
	return !(*env)->ExceptionCheck(env);
}

/* An object's method without arguments, looked up on its class: jars with the classifier
 * shaded-protobuf have other super classes. */
static jobject call_method(JNIEnv *env, jobject object, const char *name, const char *signature)
{
	jclass class = (*env)->GetObjectClass(env, object);
	jmethodID method = (*env)->GetMethodID(env, class, name, signature);
	jobject result = method ? (*env)->CallObjectMethod(env, object, method) : NULL;

	(*env)->DeleteLocalRef(env, class);
	return (*env)->ExceptionCheck(env) ? NULL : result;
}

bool jvm_message(JNIEnv *env, jobject message, const char *what, struct buf *out)
{
	jbyteArray array;
	bool ok;

	if (!message) {
		jvm_throw_null(env, what);
		return false;
	}
	array = call_method(env, message, "toByteArray", "()[B");
	if (!array)
		return false;
	ok = jvm_bytes(env, array, what, out);
	(*env)->DeleteLocalRef(env, array);
	return ok;
}

bool jvm_string(JNIEnv *env, jstring string, const char *what, struct buf *out)
{
	jclass class;
	jmethodID get_bytes;
	jstring utf8;
	jbyteArray array;
	bool ok;

	if (!string) {
		jvm_throw_null(env, what);
		return false;
	}
	class = jvm_class(env, "java/lang/String");
	get_bytes = class ? (*env)->GetMethodID(env, class, "getBytes", "(Ljava/lang/String;)[B")
			  : NULL;
	utf8 = get_bytes ? (*env)->NewStringUTF(env, "UTF-8") : NULL;
	array = utf8 ? (*env)->CallObjectMethod(env, string, get_bytes, utf8) : NULL;
	if ((*env)->ExceptionCheck(env) || !array)
		return false;
	ok = jvm_bytes(env, array, what, out);
	(*env)->DeleteLocalRef(env, array);
	(*env)->DeleteLocalRef(env, utf8);
	return ok;
}

bool jvm_put_message(JNIEnv *env, jobject message, const char *what, uint32_t field,
		     struct buf *out)
{
	struct buf bytes = BUF_INIT;
	bool ok = jvm_message(env, message, what, &bytes);

	if (ok)
		wire_put_bytes(out, field, (struct slice){bytes.data, bytes.len});
	buf_free(&bytes);
	return ok;
}

bool jvm_each(JNIEnv *env, jobject collection, const char *what,
	      bool (*take)(JNIEnv *env, jobject element, void *context), void *context)
{
	jobject iterator, element;
	jmethodID has_next, next;
	jclass class;
	bool ok = true;

	if (!collection) {
		jvm_throw_null(env, what);
		return false;
	}
	iterator = call_method(env, collection, "iterator", "()Ljava/util/Iterator;");
	class = iterator ? jvm_class(env, "java/util/Iterator") : NULL;
	has_next = class ? (*env)->GetMethodID(env, class, "hasNext", "()Z") : NULL;
	next = has_next ? (*env)->GetMethodID(env, class, "next", "()Ljava/lang/Object;") : NULL;
	if (!next)
		return false;
	while (ok && (*env)->CallBooleanMethod(env, iterator, has_next) &&
	       !(*env)->ExceptionCheck(env)) {
		element = (*env)->CallObjectMethod(env, iterator, next);
		ok = !(*env)->ExceptionCheck(env) && take(env, element, context);
		(*env)->DeleteLocalRef(env, element);
	}
	(*env)->DeleteLocalRef(env, iterator);
	return ok && !(*env)->ExceptionCheck(env);
}

struct putting {
	const char *what;
	uint32_t field;
	struct buf *out;
};

static bool put_element(JNIEnv *env, jobject element, void *context)
{
	struct putting *p = context;

	return jvm_put_message(env, element, p->what, p->field, p->out);
}

bool jvm_put_messages(JNIEnv *env, jobject collection, const char *what, uint32_t field,
		      struct buf *out)
{
	struct putting p = {what, field, out};

	return jvm_each(env, collection, what, put_element, &p);
}

struct strings {
	char **items;
	size_t count;
};

static bool add_string(JNIEnv *env, jobject element, void *context)
{
	struct strings *s = context;
	struct buf text = BUF_INIT;

	if (!jvm_string(env, element, "role", &text)) {
		buf_free(&text);
		return false;
	}
	s->items = xrealloc(s->items, (s->count + 2) * sizeof(*s->items));
	s->items[s->count++] = buf_take(&text);
	s->items[s->count] = NULL;
	return true;
}

bool jvm_strings(JNIEnv *env, jobject collection, char ***out, size_t *count)
{
	struct strings s = {xcalloc(1, sizeof(*s.items)), 0};
	bool ok = !collection || jvm_each(env, collection, "roles", add_string, &s);

	*out = s.items;
	*count = s.count;
	if (ok)
		return true;
	jvm_free_strings(s.items, s.count);
	*out = NULL;
	*count = 0;
	return false;
}

void jvm_free_strings(char **strings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(strings[i]);
	free(strings);
}

/* ---- to Java -------------------------------------------------------------------- */

jbyteArray jvm_new_bytes(JNIEnv *env, struct slice bytes)
{
	jbyteArray array = (*env)->NewByteArray(env, (jsize)bytes.len);

	if (array)
		(*env)->SetByteArrayRegion(env, array, 0, (jsize)bytes.len,
					   (const jbyte *)bytes.data);
	return array;
}

/* NewStringUTF() wants a UTF-8 of its own and takes others for granted. */
jstring jvm_new_string(JNIEnv *env, const char *text)
{
	jclass class = jvm_class(env, "java/lang/String");
	jmethodID make =
		class ? (*env)->GetMethodID(env, class, "<init>", "([BLjava/lang/String;)V") : NULL;
	jstring utf8 = make ? (*env)->NewStringUTF(env, "UTF-8") : NULL;
	jbyteArray array = utf8 ? jvm_new_bytes(env, slice_of(text)) : NULL;

	return array ? (*env)->NewObject(env, class, make, array, utf8) : NULL;
}
