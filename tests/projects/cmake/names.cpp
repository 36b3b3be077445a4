#include <string>

std::string name_of(int number) { return "number " + std::to_string(number); }
