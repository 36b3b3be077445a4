#pragma once
#define KEIRIN_ATOMIC(label)
