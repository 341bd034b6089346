#include "sim/cli/commands.h"

int main(int argument_count, char** arguments) {
    return heddle::cli::run(argument_count, arguments);
}
