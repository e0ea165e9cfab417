from hvdocker.jobs.capsule.patch import FilePatch, split_by_file

TEXT = b"""diff --git a/code/train.py b/code/train.py
index 1..2 100644
--- a/code/train.py
+++ b/code/train.py
@@ -1,2 +1,3 @@
-old
+new
++ a plus of its own
 same
"""
ODD = b"""diff --git "a/n\\303\\244me\\twith\\nall" "b/n\\303\\244me\\twith\\nall"
new file mode 100644
index 0..1
--- /dev/null
+++ "b/n\\303\\244me\\twith\\nall"
@@ -0,0 +1 @@
+x
"""
BINARY = b"""diff --git a/a b b/a b
new file mode 100644
index 0..1
GIT binary patch
literal 1
+cmZ

literal 0
HcmV?d00001

"""


def test_a_patch_file_by_file() -> None:
    assert split_by_file(TEXT + ODD + BINARY) == {
        "code/train.py": FilePatch("code/train.py", TEXT, 2, 1),
        "näme\twith\nall": FilePatch("näme\twith\nall", ODD, 1, 0),
        "a b": FilePatch("a b", BINARY, is_binary=True),
    }
    assert [file.counts() for file in split_by_file(TEXT + BINARY).values()] == ["+2 -1", "binary"]


def test_what_is_no_patch_has_no_files() -> None:
    assert split_by_file(b"") == {} == split_by_file(b"hello\nworld")
