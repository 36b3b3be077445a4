static int calls;

int plugin_calls(void) { return ++calls; }
