// A shared library that is no DRAM model, or, with OLD, one for another version of the interface.
extern "C" int something_else() {
    return 1;
}
#ifdef OLD
extern "C" unsigned heddle_dram_version() {
    return 0;
}
#endif
