# launch/site: all pages, each reachable, as a web site; a link that leads nowhere, and a folder that is something else, are
# refused.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
command -v mkdocs >/dev/null || skip "mkdocs is not installed"

works "$GNNTRAIN_SOURCE/launch/site" "$PWD/site"
says '^site: [0-9]+ pages in '
for page in index running results/scaling configs/index; do
  [[ -s site/$page.html ]] || fail "no site/$page.html"
done
says '<h1[^>]*>gnntrain' site/index.html
says 'cora.toml' site/configs/index.html
works "$GNNTRAIN_SOURCE/launch/site" "$PWD/site" # again, over the one before

mkdir copy
(cd "$GNNTRAIN_SOURCE" && cp -r README.md CHANGELOG.md CONTRIBUTING.md docs configs "$OLDPWD/copy" && mkdir "$OLDPWD/copy/launch" &&
  cp launch/site "$OLDPWD/copy/launch")
echo '[nowhere](nowhere.md)' >>copy/docs/running.md
run copy/launch/site "$PWD/other"
((code != 0)) || fail "a link that leads nowhere is passed over"
says nowhere.md err.txt
mkdir mine && touch mine/thesis.tex
ends 2 "$GNNTRAIN_SOURCE/launch/site" "$PWD/mine"
[[ -e mine/thesis.tex ]] || fail "a folder that is no site is gone"
