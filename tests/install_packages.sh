# shellcheck shell=bash
# install_packages FILE…: installs the packages named in the files that are missing, and says which. Touches no
# registry when none is. Only the installation needs root.
install_packages() {
  local package missing=()
  while read -r package; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done < <(sed 's/#.*//' "$@" | awk 'NF { print $1 }')
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    printf 'Missing packages. Install them, then run this again:\n  sudo apt-get install %s\n' "${missing[*]}" >&2
    return 2
  fi
  echo "Installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
