package rank

import (
	"fmt"
	"testing"
)

func TestTry(t *testing.T) {
	for _, x := range []string{"The café's résumé", "HTTPServer parseURLs snake_case_name fooBar", "pkg/path/file.go v1.12.3 go1.26 -race --dry-run POL-358", "备份数据库 失败 の テスト", "👍🏽 done 🇩🇪 1,000 $5,000 10:30 2023-05-07", "commit 3f2a91cdeadbeef0123 550e8400-e29b-41d4-a716-446655440000 don't O'Brien", "the of and", "도커 컨테이너 Ｆｕｌｌ ½ …and/or std::vector a@b.com"} {
		fmt.Printf("%q\n   %q\n", x, Terms(x))
	}
}
