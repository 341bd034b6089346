# Shared by ./heddle and ./run-tests: installs what is missing, configures and builds. Sourced, with $root set to the
# source tree. Everything that it says goes to stderr, so that `./heddle ... --json` prints JSON and nothing else.

build_directory="$root/build"

# Exit codes as of the `heddle` command: 2 for what the user can mend, 3 for what should not happen.
fail() {
    echo "heddle: $2" >&2
    exit "$1"
}

# packages_of build|test|optional: their names, one per line.
packages_of() {
    sed -n "s/^$1 //p" "$root/scripts/packages.txt"
}

# ensure_packages NAMES...: installs those that are missing when it may, else says how to.
ensure_packages() {
    # Other distributions name their packages otherwise: CMake says what it does not find.
    command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || return 0
    local installed missing=() optional=() name
    # dpkg-query fails when it has never heard of one of them, and still prints the others.
    installed=" $({ dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true; } |
        sed -n 's/^installed //p' | tr '\n' ' ') "
    for name in "$@"; do
        case "$installed" in *" $name "*) ;; *) missing+=("$name") ;; esac
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    if [ "$(id -u)" -ne 0 ]; then
        fail 2 "missing packages: ${missing[*]}; install them with: sudo apt-get install --no-install-recommends ${missing[*]}"
    fi
    # Optional ones come along; alone they are no reason to install anything.
    mapfile -t optional < <(packages_of optional)
    missing+=("${optional[@]}")
    if [ "${HEDDLE_INSTALL:-yes}" = no ]; then
        fail 2 "missing packages: ${missing[*]}; HEDDLE_INSTALL=no forbids to install them"
    fi
    echo "heddle: as root, apt-get now installs from this system's sources (HEDDLE_INSTALL=no forbids it): ${missing[*]}" >&2
    local log="$build_directory/install.log"
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        "${missing[@]}"; } </dev/null >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        fail 2 "apt-get could not install: ${missing[*]} (its output is in $log)"
    fi
}

# Compilers at once: as many as there are cores, but one per GB of free memory.
build_jobs() {
    local cores memory
    cores=$(nproc 2>/dev/null || echo 1)
    memory=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo 2>/dev/null)
    memory=$((${memory:-1000000} / 1000000))
    [ "$memory" -ge 1 ] || memory=1
    echo "${CMAKE_BUILD_PARALLEL_LEVEL:-$((cores < memory ? cores : memory))}"
}

# is_fresh TARGET FOLDERS...: whether no source is newer than the last complete build of the target. Folders count too:
# theirs is the time at which a file was removed. Hardware files are read when Heddle runs.
is_fresh() {
    local stamp="$build_directory/.built-$1"
    shift
    [ -f "$stamp" ] || return 1
    [ -z "$(cd "$root" && find "$@" -path sim/hardware -prune -o -newer "$stamp" -print -quit 2>&1)" ]
}

# quietly WHAT COMMAND...: one line of progress on a terminal, one line in all elsewhere; everything when it fails.
quietly() {
    local what="$1" log="$build_directory/build.log"
    shift
    echo "heddle: $what" >&2
    if [ -t 2 ] && [ "$1" = ninja ]; then
        NINJA_STATUS='[%f/%t] ' "$@" >&2 || fail 3 "$what failed"
    elif ! "$@" >"$log" 2>&1; then
        grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Generating|Running)' "$log" | tail -n 60 >&2
        fail 3 "$what failed (all of its output is in $log)"
    fi
}

# is_configured: whether CMake has run here. A tree that was copied or moved carries a cache that speaks of another place.
is_configured() {
    [ -f "$build_directory/build.ninja" ] &&
        grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build_directory/CMakeCache.txt" 2>/dev/null
}

# configure OPTIONS...: runs CMake.
configure() {
    is_configured || rm -rf "$build_directory/CMakeCache.txt" "$build_directory/CMakeFiles" "$build_directory/rooms"
    (cd "$root" && quietly "configuring" cmake --preset release "$@") || exit $?
}

# build TARGET: brings it up to date and leaves a stamp that is as old as the start of the build, so that a file that
# changes meanwhile counts as newer.
build() {
    local started="$build_directory/.started-$1"
    touch "$started"
    [ -f "$build_directory/.built-$1" ] || echo "heddle: building for the first time: this takes minutes" >&2
    quietly "building $1" ninja -C "$build_directory" -j "$(build_jobs)" "$1"
    mv "$started" "$build_directory/.built-$1"
}

# Two commands at once must not build in the same folder: the second waits, and then finds the work done.
lock_build() {
    mkdir -p "$build_directory" 2>/dev/null && [ -w "$build_directory" ] ||
        fail 2 "cannot write to $build_directory; copy the source tree to a folder of your own"
    exec 9>"$build_directory/.lock"
    if command -v flock >/dev/null && ! flock -n 9; then
        echo "heddle: another build is running; waiting for it" >&2
        flock 9
    fi
}

unlock_build() {
    exec 9>&-
}
