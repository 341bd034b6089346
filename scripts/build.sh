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
    watched "installing packages" packages_done install install_packages "${missing[@]}" ||
        fail 2 "apt-get could not install: ${missing[*]} (its output is in $build_directory/install.log)"
}

install_packages() {
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# packages_done LOG: how many steps of how many apt-get has done: a package is fetched, unpacked and set up.
packages_done() {
    local total
    total=$(sed -n 's/^[0-9]* upgraded, \([0-9]*\) newly installed.*/\1/p' "$1" | tail -n 1)
    echo "$(grep -cE '^(Get:[0-9]+ .*(amd64|arm64|all)|Unpacking |Setting up )' "$1") $((3 * ${total:-0}))"
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

# files_done LOG: how many files of how many ninja has built.
files_done() {
    tail -c 4000 "$1" | sed -n 's/^\[\([0-9]*\)\/\([0-9]*\)\].*/\1 \2/p' | tail -n 1
}

# progress_text WHAT SECONDS DONE TOTAL: one line with the time left, where the share done says it.
progress_text() {
    local text="heddle: $1: $(($2 / 60)) min $(($2 % 60)) s" left
    if [ "${3:-0}" -gt 0 ] && [ "${4:-0}" -ge "$3" ]; then
        left=$(($2 * ($4 - $3) / $3))
        text+=", $3 of $4 done, about $((left / 60)) min $((left % 60)) s left"
    fi
    echo "$text"
}

# watched WHAT COUNTER LOG COMMAND...: runs the command with its output in LOG.log of the build folder, and says every few seconds how far it is: COUNTER
# prints "DONE TOTAL" of a log. On a terminal one line that changes. Shows what the command said when it fails.
watched() {
    local what="$1" counter="$2" log="$build_directory/$3.log" started=$SECONDS shown=$SECONDS child every=8 code=0
    [ -t 2 ] && every=1
    shift 3
    echo "heddle: $what" >&2
    "$@" </dev/null >"$log" 2>&1 &
    child=$!
    # A shell's background jobs do not hear the keyboard's interrupt.
    trap 'kill "$child" 2>/dev/null; wait "$child"; exit 130' INT TERM
    while kill -0 "$child" 2>/dev/null; do
        sleep 0.5
        if [ $((SECONDS - shown)) -ge "$every" ]; then
            shown=$SECONDS
            [ -t 2 ] && printf '\r\033[K' >&2
            progress_text "$what" $((SECONDS - started)) $("$counter" "$log") | if [ -t 2 ]; then tr -d '\n'; else cat; fi >&2
        fi
    done
    [ -t 2 ] && printf '\r\033[K' >&2
    wait "$child" || code=$?
    trap - INT TERM
    [ "$code" -eq 0 ] || grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Generating|Running)' "$log" | tail -n 60 >&2
    return "$code"
}

no_count() {
    echo 0 0
}

# is_configured: whether CMake has run here. A tree that was copied or moved carries a cache that speaks of another place.
is_configured() {
    [ -f "$build_directory/build.ninja" ] &&
        grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build_directory/CMakeCache.txt" 2>/dev/null
}

# configure OPTIONS...: runs CMake.
configure() {
    is_configured || rm -rf "$build_directory/CMakeCache.txt" "$build_directory/CMakeFiles" "$build_directory/rooms"
    (cd "$root" && watched "configuring" no_count configure cmake --preset release "$@") ||
        fail 3 "configuring failed (all of its output is in $build_directory/configure.log)"
}

# build TARGET: brings it up to date and leaves a stamp that is as old as the start of the build, so that a file that
# changes meanwhile counts as newer.
build() {
    local started="$build_directory/.started-$1"
    touch "$started"
    watched "building $1" files_done build env NINJA_STATUS='[%f/%t] ' ninja -C "$build_directory" -j "$(build_jobs)" "$1" ||
        fail 3 "building $1 failed (all of its output is in $build_directory/build.log)"
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
