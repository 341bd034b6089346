# A room is a top-level folder. Code includes headers by room: #include "isa/ptx/parser.h".
#
# Each room has its own include root, a folder in the build tree that holds one link, to that room alone. A target
# sees the rooms that it links and no others, so an include that goes up the house does not compile. `isa/` is split
# further: its subfolders are include roots of their own, because kernel generators and the capture program may use
# number formats without the rest.

# The repository, whichever of its projects is configured: all of Heddle, or the capture program alone.
get_filename_component(HEDDLE_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

# heddle_include_root(<path relative to the source root> <output variable>)
function(heddle_include_root path output)
    string(REPLACE "/" "-" flat ${path})
    set(root ${CMAKE_BINARY_DIR}/rooms/${flat})
    get_filename_component(parent ${root}/${path} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    file(CREATE_LINK ${HEDDLE_ROOT}/${path} ${root}/${path} SYMBOLIC)
    set(${output} ${root} PARENT_SCOPE)
endfunction()

# The rooms that other projects may build on: find_package(heddle) after an installation (cmake/Install.cmake).
set(HEDDLE_INSTALLED_ROOMS "^(isa|models|workloads|sim)/")
set(HEDDLE_NOT_INSTALLED_ROOMS "^sim/cli$")

# heddle_library(<name> ROOM <folder> SOURCES <files...> [LINK <targets...>] [LINK_PRIVATE <targets...>] [COLD])
# Makes target heddle_<name> (alias heddle::<name>) whose public include root shows only the folder ROOM. Libraries of rooms
# that are installed are exported as heddle::<name>. COLD: no cycles are spent there, so that -O1 will do and a quarter of the compiler's time is saved.
function(heddle_library name)
    cmake_parse_arguments(ARG "COLD" "ROOM" "SOURCES;LINK;LINK_PRIVATE" ${ARGN})
    heddle_include_root(${ARG_ROOM} root)
    if(ARG_SOURCES)
        add_library(heddle_${name} STATIC ${ARG_SOURCES})
        target_include_directories(heddle_${name} PUBLIC $<BUILD_INTERFACE:${root}>)
        target_link_libraries(heddle_${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_LINK_PRIVATE})
        if(ARG_COLD)
            target_compile_options(heddle_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
        endif()
        set_target_properties(heddle_${name} PROPERTIES UNITY_BUILD "${HEDDLE_UNITY}" UNITY_BUILD_BATCH_SIZE 8)
    else()
        add_library(heddle_${name} INTERFACE)
        target_include_directories(heddle_${name} INTERFACE $<BUILD_INTERFACE:${root}>)
        target_link_libraries(heddle_${name} INTERFACE ${ARG_LINK})
    endif()
    add_library(heddle::${name} ALIAS heddle_${name})
    if(NOT HEDDLE_CAPTURE_ALONE AND ARG_ROOM MATCHES "${HEDDLE_INSTALLED_ROOMS}" AND NOT ARG_ROOM MATCHES "${HEDDLE_NOT_INSTALLED_ROOMS}")
        heddle_export(${name})
        # heddle::isa, heddle::models, heddle::workloads and heddle::sim are all libraries of the room.
        string(REGEX REPLACE "/.*" "" room ${ARG_ROOM})
        set_property(GLOBAL APPEND PROPERTY HEDDLE_ROOM_${room} heddle_${name})
    endif()
endfunction()

# heddle_export(<name>): target heddle_<name> is installed, and is heddle::<name> to others.
function(heddle_export name)
    set_target_properties(heddle_${name} PROPERTIES EXPORT_NAME ${name})
    install(TARGETS heddle_${name} EXPORT heddle ARCHIVE DESTINATION lib/heddle COMPONENT development
            INCLUDES DESTINATION include/heddle)
endfunction()
