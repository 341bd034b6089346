// libsystemc refers to sc_main(). Heddle elaborates inside its own main(), so this is never called.
#include <systemc>

int sc_main(int, char**);
int sc_main(int, char**) {
    return 0;
}
