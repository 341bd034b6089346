// Text from files of others on terminals, in messages and in spreadsheets.
#include "isa/common/foreign_text.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"

using namespace heddle;

TEST_CASE("control characters are written out, text of any language stays") {
    // A terminal's title, a cleared screen, a bell, an old sequence of eight bits (U+009B), a turned
    // direction.
    CHECK(visible("\x1b]0;owned\x07name") == "\\x1b]0;owned\\x07name");
    CHECK(visible("\x1b[2Jname\rother\x7f") == "\\x1b[2Jname\\x0dother\\x7f");
    CHECK(visible("\xc2\x9b"
                  "2J") == "\\xc2\\x9b2J");
    CHECK(visible("a\xe2\x80\xae"
                  "b") ==
          "a\\xe2\\x80\\xae"
          "b");
    CHECK(visible("a\xe2\x81\xa6"
                  "b") ==
          "a\\xe2\\x81\\xa6"
          "b");
    const std::string plain = "größe\tмодель 模型 é\xe2\x80\xa6\n";
    CHECK(visible(plain) == plain);
}

TEST_CASE("colours stay where they are asked for, and nothing else that begins as they do") {
    CHECK(visible("\x1b[31mred\x1b[0m", true) == "\x1b[31mred\x1b[0m");
    CHECK(visible("\x1b[31mred") == "\\x1b[31mred");
    CHECK(visible("\x1b[1A\x1b[", true) == "\\x1b[1A\\x1b[");
}

TEST_CASE("quotations and words in messages end after 200 characters") {
    const std::string text = "`" + std::string(100'000, 'x') + "` is no tile";
    CHECK(shortened(text) == "`" + std::string(200, 'x') + "...` is no tile");
    CHECK(shortened("a `b c` d") == "a `b c` d");
    CHECK(shortened("open ` quotation") == "open ` quotation");
    CHECK(shortened(std::string(300, 'y') + " end", 10) == "yyyyyyyyyy... end");
    // Not within a character.
    CHECK(shortened("ééé", 3) == "é...");
    const Error error("`" + std::string(5000, 'q') + "` is unknown",
                      {"file.yaml", 3, std::string(5000, 'k')});
    CHECK(std::string(error.what()) ==
          "file.yaml:3: " + std::string(200, 'k') + "...: `" + std::string(200, 'q') + "...` is unknown");
    std::string names = "there are:";
    for (int i = 0; i < 100'000; ++i) names += " kernel" + std::to_string(i);
    CHECK(std::string(Error("no such kernel", {}, names).what()).size() < 5000);
}

TEST_CASE("cells of CSV files are no formulas") {
    CHECK(csv_cell("=HYPERLINK(\"http://x\")") == "\"'=HYPERLINK(\"\"http://x\"\")\"");
    CHECK(csv_cell("+cmd") == "'+cmd");
    CHECK(csv_cell("@SUM(A1)") == "'@SUM(A1)");
    CHECK(csv_cell(" \t=1+1") == "' \t=1+1");
    CHECK(csv_cell("-2+3") == "'-2+3");
    // Numbers stay numbers, and names names.
    CHECK(csv_cell("-2.5e-3") == "-2.5e-3");
    CHECK(csv_cell("a=b") == "a=b");
    CHECK(csv_cell("a,\"b\"\n") == "\"a,\"\"b\"\"\n\"");
    CHECK(csv_cell("").empty());
}
