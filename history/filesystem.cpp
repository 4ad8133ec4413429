#include "history/filesystem.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include <sys/vfs.h>

namespace weft::history {
namespace {

struct Known {
  std::uint32_t magic;
  const char* name;
};

/// From linux/magic.h, statfs(2) and the list of remote file systems in GNU coreutils' stat.c.
constexpr std::array kShared{
    Known{0x00006969, "NFS"},         Known{0x6e667364, "NFSD"},      Known{0x0BD00BD0, "Lustre"},
    Known{0x47504653, "GPFS"},        Known{0x19830326, "BeeGFS"},    Known{0x0000517B, "SMB"},
    Known{0xFF534D42, "CIFS"},        Known{0xFE534D42, "SMB2"},      Known{0x00C36400, "CephFS"},
    Known{0x65735546, "FUSE"},        Known{0x5346414F, "AFS"},       Known{0x6B414653, "AFS"},
    Known{0x73757245, "Coda"},        Known{0x0000564C, "NCP"},       Known{0x01161970, "GFS2"},
    Known{0x7461636F, "OCFS2"},       Known{0xAAD7AAEA, "PanFS"},     Known{0x61636673, "ACFS"},
    Known{0xBEEFDEAD, "StorNext"},    Known{0x20030528, "OrangeFS"},  Known{0x01021997, "9P"},
    Known{0x013111A8, "IBRIX"},       Known{0xA501FCF5, "VxFS"},      Known{0x786F4256, "VirtualBox shared folder"},
    Known{0xBACBACBC, "VMware HGFS"}, Known{0x7C7C6673, "Parallels"},
};

}  // namespace

Filesystem filesystem_of_magic(std::uint32_t magic) {
  const auto* const found = std::ranges::find(kShared, magic, &Known::magic);
  if (found == kShared.end()) return {magic, "", false};
  return {magic, found->name, true};
}

Filesystem filesystem_of(const std::string& path) {
  std::filesystem::path place = std::filesystem::absolute(path);
  struct statfs answer {};
  while (::statfs(place.c_str(), &answer) != 0) {
    if (errno == EINTR) continue;
    if (!place.has_relative_path()) return {};
    place = place.parent_path();
  }
  return filesystem_of_magic(static_cast<std::uint32_t>(answer.f_type));
}

}  // namespace weft::history
